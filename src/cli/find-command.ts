import { sharedFlags } from './flags/shared-flags.ts'

/**
 * The command that a line surely runs: the longest one that its first words name. Undefined where
 * oclif has to look at all commands: for help, for what is no command, for any unusual spelling.
 *
 * @param ids every command, `settings:api:set`
 */
export function findCommand(words: readonly string[], ids: readonly string[]): string | undefined {
  const end = words.indexOf('--')
  const said = end === -1 ? words : words.slice(0, end)
  if (said.some((word) => word === '--help' || word === '-h')) return undefined
  const flag = said.findIndex((word) => word.startsWith('-') || word.includes('='))
  const names = flag === -1 ? said : said.slice(0, flag)
  if (names.includes('')) return undefined
  const known = new Set(ids)
  for (let length = names.length; length > 0; length--) {
    const id = names.slice(0, length).join(':')
    if (known.has(id)) return names.slice(0, length).every(isPlain) ? id : undefined
    // `chat prompts` is a group of commands, not an argument of `chat`.
    if (ids.some((other) => other.startsWith(`${id}:`))) return undefined
  }
  return undefined
}

/** oclif takes `settings:get` for two words. */
const isPlain = (word: string): boolean => !word.includes(':')

/**
 * Puts the shared flags that stand before the command, as in `chatctl -p work users get ID`, or after
 * its topic, behind its words, where oclif looks for them. Any other flag stays, and is refused there.
 *
 * @param ids every command, `settings:api:set`
 */
export function moveFlagsAfterCommand(argv: readonly string[], ids: readonly string[]): string[] {
  const first = argv.findIndex((word) => word.startsWith('-'))
  const topic = argv.slice(0, Math.max(first, 0))
  const isTopic = ids.some((id) => id.startsWith(`${topic.join(':')}:`)) && !ids.includes(topic.join(':'))
  if (first === -1 || (topic.length > 0 && !isTopic)) return [...argv]
  let end = first
  for (let word = argv[end]; word !== undefined; word = argv[end]) {
    const takesValue = readFlag(word)
    if (takesValue === undefined) break
    end += takesValue ? 2 : 1
  }
  const [flags, rest] = [argv.slice(first, end), argv.slice(end)]
  const words = rest.findIndex((word) => word.startsWith('-'))
  const at = words === -1 ? rest.length : words
  // Without a command after the flag, an error is reported elsewhere.
  if (at === 0 && !isHelp(rest[0])) return [...argv]
  return [...topic, ...rest.slice(0, at), ...flags, ...rest.slice(at)]
}

/** Whether a word is a flag that only some commands have. */
export function isOwnFlag(word: string): boolean {
  return word.startsWith('-') && readFlag(word) === undefined
}

/** Whether the value of a shared flag is the next word; undefined for any other word. */
function readFlag(word: string): boolean | undefined {
  const [, name = '', attached] = /^--([^=]+)(=.*)?$/s.exec(word) ?? []
  const long = Object.entries(sharedFlags).find(([known]) => known === name)?.[1]
  if (long) return long.type === 'option' && attached === undefined
  const [, char = '', value = ''] = /^-q*([a-z])(.*)$/s.exec(word) ?? []
  const short = Object.values(sharedFlags).find((flag) => flag.char === char)
  return short && (short.type === 'option' ? value === '' : value === '' ? false : undefined)
}

function isHelp(word: string | undefined): boolean {
  return word === '--help' || word === '-h'
}
