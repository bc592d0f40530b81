import { isValueAttached } from '../line/read-line.ts'
import type { Declarations, DeclaredCommand, DeclaredFlag, Example, HelpPage, Row, Section } from './page.ts'

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
    ...flagSections(listedFlags(command, declarations)),
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

/** Several flags that require the same other one have a section. */
function flagSections(flags: readonly DeclaredFlag[]): (Section | undefined)[] {
  const titleOf = ({ dependsOn: [other] = [] }: DeclaredFlag): string =>
    other !== undefined && flags.filter(({ dependsOn }) => dependsOn?.[0] === other).length > 4
      ? `FLAGS WITH --${other}`
      : 'FLAGS'
  return [...new Set(flags.map(titleOf))].sort().map((title) =>
    list(
      title,
      flags.filter((flag) => titleOf(flag) === title).map((flag) => [flagLabel(flag), describeFlag(flag)]),
    ),
  )
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

function isShared({ helpGroup }: DeclaredFlag): boolean {
  return helpGroup === 'GLOBAL'
}

/** The flags that all commands have, as a command without others declares them. */
export function sharedFlagsOf({ commands }: Declarations): DeclaredFlag[] {
  return Object.values(commands.find(({ id }) => id === 'config:path')?.flags ?? {}).filter(isShared)
}

/** What the page of a command lists: its own flags, and shared ones that mean something else there. */
export function listedFlags(command: DeclaredCommand, declarations: Declarations): DeclaredFlag[] {
  const usual = new Map(sharedFlagsOf(declarations).map(({ name, summary }) => [name, summary]))
  return Object.values(command.flags)
    .filter((flag) => !flag.hidden && (!isShared(flag) || usual.get(flag.name) !== flag.summary))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** The value as it follows the name of the flag: ` FILE`, ` [SESSION]`, `[=N]`. */
export function placeholderOf(flag: DeclaredFlag): string {
  if (flag.type === 'boolean') return ''
  return `${isValueAttached(flag) ? '' : ' '}${flag.helpValue ?? 'VALUE'}`
}

/** What a flag does, with its default. */
export function describeFlag(flag: DeclaredFlag): string {
  const notes = [
    flag.required && '(required)',
    flag.multiple && '(repeatable)',
    flag.type === 'option' && flag.default !== undefined && `(default: ${flag.default})`,
  ]
  return [flag.summary, ...notes].filter(Boolean).join(' ')
}

/** The lines below USAGE. */
export function usagesOf({ id, usage, args, flags }: DeclaredCommand): string[] {
  const required = Object.values(flags).filter((flag) => flag.required && !flag.hidden)
  const words = Object.values(args).map(({ name, required, multiple }) => {
    const word = `${name.toUpperCase()}${multiple ? '...' : ''}`
    return required ? word : `[${word}]`
  })
  const lines = usage === undefined ? [[...id.split(':'), ...words].join(' ')] : [usage].flat()
  const flagWords = [...required.map((flag) => `--${flag.name}${placeholderOf(flag)}`), '[flags]']
  return lines.map((line) => ['chatctl', line, ...(line.includes('[flags]') ? [] : flagWords)].join(' '))
}
