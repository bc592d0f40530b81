import type { Requests } from '../src/cli/requests.ts'
import { type EndpointName, endpoints } from '../src/contract/endpoints.ts'

/** A flag as oclif's manifest has it. */
interface Flag {
  name: string
  type: 'boolean' | 'option'
  summary: string
  char?: string
  env?: string
  helpValue?: string
  helpGroup?: string
  hidden?: boolean
  allowNo?: boolean
  multiple?: boolean
  required?: boolean
  default?: unknown
  exclusive?: string[]
  dependsOn?: string[]
}

interface Argument {
  name: string
  description: string
  required?: boolean
  multiple?: boolean
}

interface Command {
  id: string
  summary: string
  description?: string
  hidden?: boolean
  usage?: string | string[]
  examples?: string[]
  args: Record<string, Argument>
  flags: Record<string, Flag>
  requests: Requests
}

export interface Manifest {
  commands: Record<string, Command>
}

/** Descriptions of topics by id, as in package.json. */
export type Topics = Record<string, { description?: string }>

/** The pages of docs/commands by their names: one for each topic or command at the top, and the index. */
export function writeCommandPages(manifest: Manifest, topics: Topics): Map<string, string> {
  const commands = Object.values(manifest.commands)
    .filter(({ hidden }) => !hidden)
    .sort((a, b) => (a.id < b.id ? -1 : 1))
  const names = [...new Set(commands.map(({ id }) => topicOf(id)))]
  const pages = new Map([['README.md', writeIndex(commands, names, topics)]])
  for (const topic of names) {
    const inside = commands.filter(({ id }) => topicOf(id) === topic)
    pages.set(`${topic}.md`, writePage(topic, inside, topics[topic]?.description))
  }
  return pages
}

const madeBy = '<!-- Written by `npm run docs` from the commands themselves. Change those. -->'

function topicOf(id: string): string {
  return id.split(':')[0] ?? id
}

function wordsOf(id: string): string {
  return ['chatctl', ...id.split(':')].join(' ')
}

function linkTo(id: string, page = ''): string {
  const words = wordsOf(id)
  return `[${words}](${page}#${words.replaceAll(' ', '-')})`
}

function writeIndex(commands: readonly Command[], names: readonly string[], topics: Topics): string {
  const parts = [
    madeBy,
    '# Commands',
    '`chatctl COMMAND --help` says the same in a terminal. Output and its forms: [output](../reference/output.md); exit codes: [errors](../exit-codes.md).',
  ]
  for (const topic of names) {
    const inside = commands.filter(({ id }) => topicOf(id) === topic)
    const title = topics[topic]?.description
    parts.push(
      `## [${topic}](${topic}.md)${title ? `: ${escapeText(title)}` : ''}`,
      tableOf(inside, `${topic}.md`),
    )
  }
  const shared = new Map(commands.flatMap(({ flags }) => sharedFlags(flags).map((flag) => [flag.name, flag])))
  parts.push(
    '## Flags of every command',
    'A value is taken from the flag, else the environment, else the profile, else the default.',
    flagTable([...shared.values()]),
  )
  return join(parts)
}

function writePage(topic: string, commands: readonly Command[], title = ''): string {
  const parts = [madeBy, `# chatctl ${topic}`]
  if (title) parts.push(escapeText(title))
  if (commands.length > 1) parts.push(tableOf(commands))
  for (const command of commands) parts.push(...describeCommand(command, commands.length > 1))
  return join(parts)
}

function describeCommand(command: Command, isOneOfMany: boolean): string[] {
  const { id, summary, description, args, flags, examples = [] } = command
  const parts = isOneOfMany ? [`## ${wordsOf(id)}`] : []
  parts.push(escapeText(summary))
  if (description) parts.push(escapeText(description))
  parts.push(shell(usagesOf(command)))
  const argumentList = Object.values(args)
  if (argumentList.length > 0) {
    const rows = argumentList.map((argument) => [
      code(argument.name.toUpperCase()),
      escapeText(argument.description),
    ])
    parts.push(table(['argument', ''], rows))
  }
  const own = Object.values(flags).filter(({ hidden, helpGroup }) => !hidden && helpGroup !== 'GLOBAL')
  if (own.length > 0) parts.push(flagTable(own))
  const sharedCount = sharedFlags(flags).length
  if (sharedCount > 0) parts.push('And [the flags of every command](README.md#flags-of-every-command).')
  parts.push(`Requests: ${describeRequests(command.requests)}`)
  if (examples.length > 0) parts.push('Examples:', shell(examples.map(exampleText)))
  return parts
}

function describeRequests({ calls, note }: Requests): string {
  const names = calls.map((name) => code(describeEndpoint(name)))
  return [names.join(', '), note].filter(Boolean).join(', ').replace(/\.?$/, '.')
}

/** `POST /v1/users/{id}/permissions` */
export function describeEndpoint(name: EndpointName): string {
  const { method, path } = endpoints[name]
  return `${method} ${path}`
}

/** The lines below USAGE in the help. */
export function usagesOf({ id, usage, args }: Pick<Command, 'id' | 'usage' | 'args'>): string[] {
  if (usage !== undefined) return [usage].flat().map((line) => `chatctl ${line}`)
  const words = Object.values(args).map(({ name, required, multiple }) => {
    const word = `${name.toUpperCase()}${multiple ? '...' : ''}`
    return required ? word : `[${word}]`
  })
  return [[wordsOf(id), ...words].join(' ')]
}

/** An example as it is typed. */
export function exampleText(example: string): string {
  return example.replaceAll('<%= config.bin %>', 'chatctl').replace(/^\$ /, '')
}

function sharedFlags(flags: Record<string, Flag>): Flag[] {
  return Object.values(flags).filter(({ hidden, helpGroup }) => !hidden && helpGroup === 'GLOBAL')
}

function tableOf(commands: readonly Command[], page = ''): string {
  return table(
    ['command', ''],
    commands.map(({ id, summary }) => [
      commands.length > 1 || page === '' ? linkTo(id, page) : `[${wordsOf(id)}](${page})`,
      escapeText(summary),
    ]),
  )
}

function flagTable(flags: readonly Flag[]): string {
  const rows = [...flags]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map((flag) => [flagWords(flag), describeFlag(flag)])
  return table(['flag', ''], rows)
}

function flagWords({ char, name, type, helpValue, allowNo }: Flag): string {
  const value = type === 'option' ? `=${helpValue ?? '<value>'}` : ''
  const long = code(`--${allowNo ? '[no-]' : ''}${name}${value}`)
  return char === undefined ? long : `${code(`-${char}`)}, ${long}`
}

function describeFlag(flag: Flag): string {
  const named = /^\[env: (\w+)\] (.*)$/s.exec(flag.summary)
  const variable = flag.env ?? named?.[1]
  const names = (list: readonly string[] = []) => list.map((name) => code(`--${name}`)).join(', ')
  return [
    escapeText(named?.[2] ?? flag.summary),
    flag.required && 'Required.',
    flag.multiple && !flag.summary.includes('repeat') && 'May be repeated.',
    typeof flag.default === 'string' &&
      !flag.summary.includes(flag.default) &&
      `Default: ${code(flag.default)}.`,
    flag.dependsOn?.length && `Needs ${names(flag.dependsOn)}.`,
    flag.exclusive?.length && `Not with ${names(flag.exclusive)}.`,
    variable && `Environment: ${code(variable)}.`,
  ]
    .filter(Boolean)
    .join(' ')
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => '---'), ...rows]
  return lines
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`)
    .join('\n')
}

function shell(lines: readonly string[]): string {
  return ['```sh', ...lines, '```'].join('\n')
}

function code(text: string): string {
  return `\`${text}\``
}

/** Text of the help, in which nothing is meant as Markdown or HTML. */
function escapeText(text: string): string {
  return text.replace(/[\\`*_[\]]/g, '\\$&').replaceAll('<', '&lt;')
}

function join(parts: readonly string[]): string {
  return `${parts.join('\n\n')}\n`
}
