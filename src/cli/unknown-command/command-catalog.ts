import { isSecretName } from '../../contract/secret-fields.ts'
import { commandLine } from '../command-line.ts'
import { mayOmitValue, takesNextWord } from '../flags/optional-value.ts'
import type { Installation } from '../host.ts'

/** What a command line may give a flag. */
interface FlagShape {
  type: 'option' | 'boolean'
  char?: string
  helpValue?: string
  required?: boolean
  options?: readonly string[]
  allowNo?: boolean
}

interface ArgumentShape {
  required?: boolean
  multiple?: boolean
  options?: readonly string[]
}

/** The arguments and flags of a command, as the build lists them. */
export interface CommandShape {
  hidden?: boolean
  args: Readonly<Record<string, ArgumentShape>>
  flags: Readonly<Record<string, FlagShape>>
}

/** The commands that help shows, by id, `settings:api:set`. */
export type Catalog = ReadonlyMap<string, CommandShape>

export function readCatalog(installation: Installation): Catalog {
  const manifest: { commands: Record<string, CommandShape> } = JSON.parse(
    installation.readFile('oclif.manifest.json').toString(),
  )
  return new Map(Object.entries(manifest.commands).filter(([, { hidden }]) => !hidden))
}

/** The command that most of the first words name. */
export function findId(words: readonly string[], catalog: Catalog): string | undefined {
  const ids = words.map((_, index) => words.slice(0, index + 1).join(':'))
  return ids.findLast((id) => catalog.has(id))
}

/** The flag that a word of a command line gives: `--limit=3`, `-n3`, `--no-stream`. */
export function findFlag(
  { flags }: CommandShape,
  word: string,
): { name: string; flag: FlagShape; attached: string | undefined } | undefined {
  const [, long, attached] = /^--([^=]+)(?:=(.*))?$/s.exec(word) ?? []
  const [, char, rest] = /^-([a-z])=?(.*)$/is.exec(word) ?? []
  const found = Object.entries(flags).find(([name, flag]) =>
    long === undefined
      ? char !== undefined && flag.char === char
      : name === long || (flag.allowNo && `no-${name}` === long),
  )
  return found && { name: found[0], flag: found[1], attached: attached ?? (rest || undefined) }
}

/** Flags whose value may be a secret, which a hint must not repeat. */
const maySecret = new Set(['header', 'data', 'field', 'metadata', 'database'])

/**
 * Whether a word looks like an API key, or holds a secret: `sk-…`, a JSON Web Token,
 * `https://user:password@host`, `api_key=…`.
 */
export function looksSecret(word: string): boolean {
  const names = word.split(/[=:](?=\S)/).slice(0, -1)
  const isKey = /(^|[=:])((sk|pk|ck|gh[pousr]|xox[a-z])[-_]|eyJ[\w-]{10})/i.test(word)
  return isKey || /bearer |:\/\/[^/]*@/i.test(word) || names.some(isSecretName)
}

/**
 * A command line for a hint. Words in capitals are filled with those that were typed, and the rest follows,
 * if the command takes it all and it holds no secret.
 *
 * @param line `settings diff FILE --save PLAN`; MESSAGE takes all words, as one
 * @param typed the words after the part of the line that was understood
 */
export function suggestCommand(line: string, typed: readonly string[], catalog: Catalog): string {
  const named = line.split(' ')
  const id = findId(named, catalog)
  const shape = catalog.get(id ?? '')
  if (id === undefined || !shape) return commandLine(...named)
  const own = named.slice(id.split(':').length)
  const flagAt = typed.findIndex((word) => word.startsWith('-') && word !== '-')
  const words = flagAt === -1 ? [...typed] : typed.slice(0, flagAt)
  const isPlaceholder = (word: string): boolean => /^[A-Z]+$/.test(word)
  const filled = own.map((word) => {
    return (isPlaceholder(word) && (word === 'MESSAGE' ? words.splice(0).join(' ') : words.shift())) || word
  })
  const isSecret = typed.some(looksSecret) || (typed.length > 1 && isSecretName(typed[0] ?? ''))
  const flags = flagAt === -1 ? [] : typed.slice(flagAt)
  // A flag may give what a place is for: `apply -f FILE`.
  const bare = filled.filter((word, index) => word !== own[index] || !isPlaceholder(word))
  const all = [...(flags.length > 0 ? [[...bare, ...words, ...flags]] : []), [...filled, ...words]]
  const given = (isSecret ? undefined : all.find((one) => fits(shape, one))) ?? own
  return commandLine(...id.split(':'), ...given, ...missingIn(shape, given))
}

/** Whether a command takes all these words, and none can hold a secret. */
export function fits(shape: CommandShape, words: readonly string[]): boolean {
  const args = Object.entries(shape.args)
  let count = 0
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? ''
    if (word === '--') return false
    if (!word.startsWith('-') || word === '-') {
      const [name, arg] = args[Math.min(count, args.length - 1)] ?? []
      if (!arg || (count >= args.length && !arg.multiple)) return false
      if (name?.includes('=') && !word.includes('=')) return false
      if (arg.options && !arg.options.includes(word)) return false
      count++
      continue
    }
    const found = findFlag(shape, word)
    // Elsewhere -out is one flag.
    if (/^-[a-z]{3,}/i.test(word) || !found || maySecret.has(found.name)) return false
    if (found.flag.type === 'boolean') {
      if (found.attached !== undefined) return false
      continue
    }
    const next = words[index + 1] ?? '-'
    if (found.attached === undefined && mayOmitValue(found.flag) && !takesNextWord(found.flag, next)) continue
    const value = found.attached ?? words[++index]
    if (value === undefined || value === '' || value.startsWith('-')) return false
    if (found.flag.options && !found.flag.options.includes(value)) return false
  }
  return true
}

/** The arguments and flags that a command requires and the words do not give, in capitals. */
function missingIn(shape: CommandShape, words: readonly string[]): string[] {
  const flagAt = words.findIndex((word) => word.startsWith('-') && word !== '-')
  const args = Object.entries(shape.args)
    .slice(flagAt === -1 ? words.length : flagAt)
    .flatMap(([name, { required, options }]) => (required ? [options?.[0] ?? name.toUpperCase()] : []))
  const given = words.flatMap((word) => findFlag(shape, word)?.name ?? [])
  const flags = Object.entries(shape.flags).flatMap(([name, { required }]) =>
    required && !given.includes(name) ? [`--${name}`, name.toUpperCase()] : [],
  )
  return [...args, ...flags]
}
