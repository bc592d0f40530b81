import { isValueAttached } from '../flags/optional-value.ts'

/** A flag as the manifest describes it. */
export interface DeclaredFlag {
  name: string
  type: 'boolean' | 'option'
  summary?: string | undefined
  char?: string | undefined
  helpValue?: string | string[] | undefined
  helpGroup?: string | undefined
  hidden?: boolean | undefined
  allowNo?: boolean | undefined
  multiple?: boolean | undefined
  required?: boolean | undefined
  default?: unknown
}

interface DeclaredArgument {
  name: string
  description?: string | undefined
  required?: boolean | undefined
  multiple?: boolean | undefined
}

/** A command as the manifest describes it. */
export interface DeclaredCommand {
  id: string
  summary?: string | undefined
  description?: string | undefined
  hidden?: boolean | undefined
  usage?: string | string[] | undefined
  examples?: readonly unknown[] | undefined
  args: Record<string, DeclaredArgument>
  flags: Record<string, DeclaredFlag>
}

/** Commands by id, `settings:api:set`, and the groups that they are in. */
export interface Declarations {
  commands: readonly DeclaredCommand[]
  topics: readonly { name: string; description?: string | undefined }[]
}

export function isShared({ helpGroup }: DeclaredFlag): boolean {
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
  return lines.map((line) =>
    ['chatctl', line, ...required.map((flag) => `--${flag.name}${placeholderOf(flag)}`), '[flags]'].join(' '),
  )
}
