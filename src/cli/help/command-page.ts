import {
  type Declarations,
  type DeclaredCommand,
  type DeclaredFlag,
  describeFlag,
  isShared,
  listedFlags,
  placeholderOf,
  usagesOf,
} from './declared-command.ts'
import type { Example, HelpPage, Row, Section } from './page.ts'

/** Shared flags that the last lines of a page name; `chatctl help flags` has all of them. */
const namedFlags = 3

export function commandPage(command: DeclaredCommand, declarations: Declarations): HelpPage {
  const { id, summary, description, args, examples = [] } = command
  const parts: (Section | undefined)[] = [
    { title: 'USAGE', kind: 'usage', lines: usagesOf(command) },
    { title: 'EXAMPLES', kind: 'examples', examples: examples as Example[] },
    list(
      'ARGUMENTS',
      Object.values(args).map(({ name, description = '' }) => [name.toUpperCase(), description]),
    ),
    list(
      'FLAGS',
      listedFlags(command, declarations).map((flag) => [flagLabel(flag), describeFlag(flag)]),
    ),
    list('COMMANDS', commandRows(id, declarations)),
    description === undefined ? undefined : { title: 'DESCRIPTION', kind: 'text', text: description },
  ]
  return {
    summary: `${summary}.`,
    sections: parts.filter((part) => part !== undefined),
    closing: [
      `Global flags: ${nameSharedFlags(command)}, … (chatctl help flags)`,
      'Exit codes: chatctl help exit-codes',
    ],
  }
}

/** A group of commands, such as `settings api`. */
export function topicPage(id: string, declarations: Declarations): HelpPage {
  const words = id.replaceAll(':', ' ')
  const description = declarations.topics.find(({ name }) => name === id)?.description ?? ''
  return {
    summary: `${description}.`,
    sections: [
      { title: 'USAGE', kind: 'usage', lines: [`chatctl ${words} COMMAND`] },
      { title: 'COMMANDS', kind: 'list', rows: commandRows(id, declarations) },
    ],
    closing: [`Help for a command: chatctl ${words} COMMAND --help`],
  }
}

/** The commands below a group, named from there. */
function commandRows(id: string, { commands }: Declarations): Row[] {
  return commands
    .filter((command) => !command.hidden && command.id.startsWith(`${id}:`))
    .map((command) => [command.id.slice(id.length + 1).replaceAll(':', ' '), command.summary ?? ''] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
}

function list(title: string, rows: readonly Row[]): Section | undefined {
  return rows.length === 0 ? undefined : { title, kind: 'list', rows }
}

/** `-c, --context ID`; long names are below each other, with a short one or without. */
export function flagLabel(flag: DeclaredFlag): string {
  const short = flag.char === undefined ? '    ' : `-${flag.char}, `
  return `${short}--${flag.allowNo ? '[no-]' : ''}${flag.name}${placeholderOf(flag)}`
}

function nameSharedFlags({ flags }: DeclaredCommand): string {
  const order = ['profile', 'output', 'base-url', 'json', 'quiet', 'debug', 'no-input']
  return order
    .flatMap((name) => flags[name] ?? [])
    .filter((flag) => isShared(flag) && !flag.hidden)
    .slice(0, namedFlags)
    .map(({ char, name }) => (char === undefined ? `--${name}` : `-${char}/--${name}`))
    .join(', ')
}
