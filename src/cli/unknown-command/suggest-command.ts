import { commandLine } from '../command-line.ts'
import { mayOmitValue, takesNextWord } from '../optional-value.ts'
import { type Catalog, type CommandShape, findFlag } from './command-catalog.ts'
import { findFlagSynonym } from './synonyms.ts'

/** Flags whose value may be a secret, which a hint must not repeat. */
const maySecret = new Set(['header', 'data', 'field', 'metadata', 'database'])

/** Whether a flag or a key with this name may hold a secret: `--upstream-key`, `smtp.password`; not `max_token`. */
export function namesSecret(name: string): boolean {
  return /(^|[._-])(api-?key|(?<!max-)token|key|secret|password|passwd|pass)$/i.test(
    name.replaceAll('_', '-'),
  )
}

/**
 * Whether a word looks like an API key, or holds a secret: `sk-…`, a JSON Web Token,
 * `https://user:password@host`, `api_key=…`.
 */
export function looksSecret(word: string): boolean {
  const names = [...word.matchAll(/(?<![\w.-])([\w.-]+)[=:](?=\S)/g)].map(([, name = '']) => name)
  const isKey = /(^|[=:])((sk|pk|ck|gh[pousr]|xox[a-z])[-_]|eyJ[\w-]{10})/i.test(word)
  return isKey || /bearer |:\/\/[^/]*@/i.test(word) || names.some(namesSecret)
}

/** Whether one of the words looks like a secret, or the first is the name of one and a value follows. */
function holdSecret(words: readonly string[]): boolean {
  return words.some(looksSecret) || (words.length > 1 && namesSecret(words[0] ?? ''))
}

/**
 * A command line for a hint. Capitals in it, such as ID, are filled with the words that were typed.
 * The words that are left follow if the command takes them all; otherwise only what is certain does.
 *
 * @param line the words of a command, `users get ID`; MESSAGE takes all words, as one
 * @param typed the words after the part of the line that was understood
 */
export function suggestCommand(line: string, typed: readonly string[], catalog: Catalog): string {
  const flagAt = typed.findIndex((word) => word.startsWith('-') && word !== '-')
  const isSafe = !holdSecret(typed)
  const named = line.split(' ')
  const id = findId(named, catalog)
  const words = isSafe ? typed.slice(0, flagAt === -1 ? typed.length : flagAt) : []
  const filled = named.map((word) => fill(word, words))
  // `chat` accepts only words with white space as a message.
  if (id === 'chat' && words.some((word) => !/\s/.test(word))) words.length = 0
  const shape = id === undefined ? undefined : catalog.get(id)
  if (id === undefined || !shape) return commandLine(...filled)
  const own = filled.slice(id.split(':').length)
  const flags = isSafe && flagAt !== -1 ? translateFlags(typed.slice(flagAt), shape) : []
  const carried = [[...words, ...flags], words, []].find((rest) => fits(shape, [...own, ...rest])) ?? []
  const all = [...withoutPlaceholders(own, carried, shape), ...carried]
  return commandLine(...id.split(':'), ...all, ...missingIn(shape, all))
}

/** The words of a line without the places that the carried flags fill, `FILE` and `--save PLAN`. */
function withoutPlaceholders(own: string[], carried: readonly string[], shape: CommandShape): string[] {
  const given = carried.flatMap((word) => findFlag(shape, word)?.name ?? [])
  return own.filter((word, index) => {
    if (word === 'FILE') return !given.includes('file')
    const flag = word.startsWith('--') ? word : /^[A-Z]+$/.test(word) ? (own[index - 1] ?? '') : ''
    return !given.includes(findFlag(shape, flag)?.name ?? '')
  })
}

/** Flags as the command spells them, `--yes` for `-auto-approve`. */
function translateFlags(words: readonly string[], shape: CommandShape): string[] {
  return words.map((word) => {
    const [, name = '', value = ''] = /^--?([a-z][\w-]+)(=.*)?$/s.exec(word) ?? []
    const ours = findFlagSynonym(name, (one) => Object.hasOwn(shape.flags, one))
    const isKnown = findFlag(shape, word) !== undefined && !/^-[a-z][\w-]/.test(word)
    return isKnown || ours === undefined || !shape.flags[ours] ? word : `--${ours}${value}`
  })
}

/** Whether a command takes all these words, and none can hold a secret. */
export function fits(shape: CommandShape, words: readonly string[]): boolean {
  const args = Object.values(shape.args)
  let count = 0
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? ''
    if (word === '--') return false
    if (!word.startsWith('-') || word === '-') {
      const arg = args[Math.min(count, args.length - 1)]
      if (!arg || (count >= args.length && !arg.multiple)) return false
      if (arg.options && !arg.options.includes(word)) return false
      count++
      continue
    }
    const found = findFlag(shape, word)
    // Elsewhere -out is one flag.
    if (/^-[a-z]{3,}/i.test(word)) return false
    if (!found || maySecret.has(found.name)) return false
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
  const count = flagAt === -1 ? words.length : flagAt
  const args = Object.entries(shape.args)
    .slice(count)
    .flatMap(([name, { required, options }]) =>
      required ? [options ? (options[0] ?? '') : name.toUpperCase()] : [],
    )
  const given = words.flatMap((word) => findFlag(shape, word)?.name ?? [])
  const flags = Object.entries(shape.flags).flatMap(([name, { required }]) =>
    required && !given.includes(name) ? [`--${name}`, name.toUpperCase()] : [],
  )
  return [...args, ...flags]
}

function fill(word: string, words: string[]): string {
  if (word === 'KEY=VALUE' && words.length >= 2 && !words[0]?.includes('=')) {
    return words.splice(0, 2).join('=')
  }
  if (word === 'KEY=VALUE' && words.length === 1 && !words[0]?.includes('=')) return `${words.shift()}=VALUE`
  if (!/^[A-Z]+(=[A-Z]+)?$/.test(word)) return word
  const next = word === 'MESSAGE' ? words.splice(0).join(' ') : words.shift()
  return next === undefined || next === '' ? word : next
}

/** The longest command that words name. */
export function findId(words: readonly string[], catalog: Catalog): string | undefined {
  for (let length = words.length; length > 0; length--) {
    const id = words.slice(0, length).join(':')
    if (catalog.has(id)) return id
  }
  return undefined
}
