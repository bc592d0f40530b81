import { Failure } from '../../contract/failure.ts'
import { nearest } from '../../contract/nearest-word.ts'
import { readLine } from '../line/read-line.ts'
import { loadColors, wantsColor } from '../output/colors.ts'
import type { Streams } from '../output/streams.ts'
import { commandPage, topicPage } from './command-page.ts'
import { type Declarations, type HelpPage, helpTopics, type Section } from './page.ts'
import { renderPage } from './render-page.ts'
import { helpTopicPage } from './topic-pages.ts'

/** Columns if stdout is not a terminal. */
const defaultWidth = 80
/** Columns that every page fits in. */
const minimumWidth = 40

/**
 * Writes the page of a command, a group, a help topic, or the program to stdout.
 * @returns whether there is such a page
 * @throws Failure `usage` for a misspelled help topic
 */
export async function showHelp(
  words: readonly string[],
  declarations: Declarations,
  streams: Streams,
  noColor: boolean,
): Promise<boolean> {
  const page = findPage(words, declarations)
  if (!page) {
    refuseMisspelledTopic(words)
    return false
  }
  const { stdout, env } = streams.host
  const { bold } = await loadColors(wantsColor(stdout, env, noColor))
  await streams.writeData(renderPage(page, { width: widthOf(streams), bold }))
  return true
}

function refuseMisspelledTopic(words: readonly string[]): void {
  const [word = '', ...others] = words
  const names = helpTopics.map(({ name }) => name)
  const topic = others.length === 0 ? nearest(word, names) : undefined
  if (topic === undefined) return
  throw new Failure('usage', `Unknown command or help topic: ${word}`, {
    hint: `Did you mean: chatctl help ${topic}`,
  })
}

function widthOf({ host: { stdout, env }, isShown }: Streams): number {
  const requested = Number.parseInt(env['OCLIF_COLUMNS'] ?? '', 10)
  if (requested) return requested
  if (!isShown || stdout.columns < 1) return defaultWidth
  return Math.max(minimumWidth, stdout.columns)
}

/**
 * @param words `settings get`, or what follows `help`; arguments of a command are ignored
 * @returns undefined if there is no such command, group, or help topic
 */
export function findPage(words: readonly string[], declarations: Declarations): HelpPage | undefined {
  const { commands } = declarations
  const ids = commands.map(({ id }) => id)
  const { id, path, rest } = readLine(words, ids)
  if (path.length === 0 && rest.length === 0) return rootPage(declarations)
  const topic = path.length === 0 && rest.length === 1 && helpTopics.find(({ name }) => name === rest[0])
  if (topic) return helpTopicPage(topic.name, declarations)
  const command = commands.find((one) => one.id === id)
  if (!command)
    return path.length > 0 && rest.length === 0 ? topicPage(path.join(':'), declarations) : undefined
  const [argument] = rest
  if (argument === undefined) return commandPage(command, declarations)
  // A single word after the name of a group is a mistyped command.
  const isMistyped = !/\s/.test(argument) && ids.some((other) => other.startsWith(`${id}:`))
  return Object.keys(command.args).length > 0 && !isMistyped ? commandPage(command, declarations) : undefined
}

/** Every command and group at the top, in the order of the page. */
const groups: Readonly<Record<string, readonly string[]>> = {
  CHAT: ['chat', 'history'],
  ADMINISTRATION: ['users', 'settings', 'plan', 'activity', 'api'],
  'EMBEDDED SERVICE': ['service'],
  SETUP: ['auth', 'exec', 'config', 'doctor', 'autocomplete', 'commands'],
}

function rootPage({ commands, topics }: Declarations): HelpPage {
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
      { title: 'USAGE', kind: 'usage', lines: ['chatctl COMMAND [flags]', 'chatctl "MESSAGE" [flags]'] },
      {
        title: 'GETTING STARTED',
        kind: 'list',
        rows: [
          ['chatctl "What is WAL?"', 'Send one message, as with chat send'],
          ['chatctl chat', 'Start a chat session'],
          ['chatctl auth login', 'Sign in to a service'],
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
