import type { Declarations } from './declared-command.ts'
import { type HelpPage, helpTopics, type Section } from './page.ts'

/** Every command and group at the top, in the order of the page. */
const groups: Readonly<Record<string, readonly string[]>> = {
  CHAT: ['chat', 'history'],
  ADMINISTRATION: ['users', 'settings', 'activity', 'api'],
  'EMBEDDED SERVICE': ['service'],
  SETUP: ['auth', 'config', 'doctor', 'autocomplete'],
}

export function rootPage({ commands, topics }: Declarations): HelpPage {
  const describe = (name: string): string =>
    topics.find((topic) => topic.name === name)?.description ??
    commands.find(({ id }) => id === name)?.summary ??
    ''
  const lists: Section[] = Object.entries(groups).map(([title, names]) => ({
    title,
    kind: 'list',
    rows: names.map((name) => [name, describe(name)]),
  }))
  return {
    summary: 'Command-line client and administration tool for AI chat services.',
    sections: [
      { title: 'USAGE', kind: 'usage', lines: ['chatctl COMMAND [flags]'] },
      {
        title: 'GETTING STARTED',
        kind: 'list',
        rows: [
          ['chatctl chat send "Hello"', 'Send one message and print the reply'],
          ['chatctl chat', 'Start a chat session'],
          ['chatctl auth login', 'Sign in to a service'],
          ['chatctl doctor', 'Check the setup, and suggest fixes'],
        ],
      },
      ...lists,
      {
        title: 'HELP TOPICS',
        kind: 'list',
        rows: helpTopics.map(({ name, summary }) => [`help ${name}`, summary]),
      },
    ],
    closing: ['Help for a command: chatctl COMMAND --help'],
  }
}
