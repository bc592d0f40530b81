import { nearest } from '../contract/nearest-word.ts'
import { type Catalog, type CommandShape, findFlag } from './unknown-command/command-catalog.ts'
import { fits, namesSecret, suggestCommand } from './unknown-command/suggest-command.ts'
import { explainAbsentFlag, findFlagSynonym } from './unknown-command/synonyms.ts'

/** Names of flags and keys that would hold a secret. */
export const asksSecret = /^(api-?key|(access-?|auth-?|bearer-?)?token|key|secret|password|passwd|pass)$/

/** The command line that an unknown flag is on. */
export interface FlagUse {
  /** The flags of the command. */
  known: readonly string[]
  /** The command, `users:get`, the words after it, and all commands; absent if the line has no command. */
  line?: { id: string; argv: readonly string[]; catalog: Catalog }
}

/**
 * What an unknown flag was probably meant to be.
 *
 * @param flag as typed, with its dashes
 * @returns undefined if nothing is near
 */
export function flagHint(flag: string, { known, line }: FlagUse): string | undefined {
  const name = flag.replace(/^-+/, '').replaceAll('_', '-')
  const command = line && `chatctl ${line.id.replaceAll(':', ' ')}`
  const wanted = findFlagSynonym(name, (one) => known.includes(one)) ?? name
  const absent = known.includes(wanted) ? undefined : explainAbsentFlag(`${command}`, wanted)
  if (asksSecret.test(name.toLowerCase())) return absent ?? secretHint(/pass/i.test(name), known)
  const shape = line?.catalog.get(line.id)
  const use = line && shape && { ...line, shape, flag }
  const certain = known.includes(wanted) ? wanted : undefined
  if (certain !== undefined) return suggest(certain, use)
  if (name === 'help' && command) return `Did you mean: ${command} --help`
  const other = use && (absent ?? hintOfArgument(wanted, use))
  if (other) return other
  const meant = nearest(name, known)
  return (
    (use && hintOfSibling(wanted, use)) ??
    (meant === undefined || name.length < 2 ? undefined : suggest(meant, use))
  )
}

interface Use {
  id: string
  argv: readonly string[]
  catalog: Catalog
  shape: CommandShape
  /** As typed. */
  flag: string
}

/** The flag, and the whole command line with it if the command takes that. */
function suggest(name: string, use: Use | undefined): string {
  const words = use?.argv.flatMap((word) => {
    const value = valueAttached(word, use.flag)
    return value === undefined ? [word] : [`--${name}`, ...(value === '' ? [] : [value])]
  })
  const text = `Did you mean --${name}?`
  if (!use || !words || namesSecret(use.flag) || !fits(use.shape, words)) return text
  return `${text} Run: ${suggestCommand(use.id.replaceAll(':', ' '), words, use.catalog)}`
}

/** `users get --id u1`: what is an argument of the command, and no flag. */
function hintOfArgument(wanted: string, use: Use): string | undefined {
  const names = namesOf(wanted, use.catalog)
  const argument = Object.keys(use.shape.args).find((name) => names.includes(name))
  if (argument === undefined) return undefined
  const words = use.argv.flatMap((word) => {
    const value = valueAttached(word, use.flag)
    return value === undefined ? [word] : value === '' ? [] : [value]
  })
  const line = suggestCommand(use.id.replaceAll(':', ' '), words, use.catalog)
  return `${argument.toUpperCase()} is an argument, not a flag: ${line}`
}

/** `chat send --system`: a flag of another command of the topic. */
function hintOfSibling(wanted: string, { id, argv, catalog, flag }: Use): string | undefined {
  const [topic = ''] = id.split(':')
  const words = flag.length === 2 ? [flag] : [`--${wanted}`]
  const siblings = [...catalog].filter(([other, shape]) => {
    return other !== id && other.startsWith(`${topic}:`) && words.some((word) => findFlag(shape, word))
  })
  const [[first] = ['']] = siblings
  if (siblings.length === 0 || siblings.length > 3) return undefined
  const typed = siblings.length === 1 && !argv.includes('--') ? argv : []
  const lines = siblings.map(([other]) => suggestCommand(other.replaceAll(':', ' '), typed, catalog))
  return first === '' ? undefined : `${flag} is a flag of: ${lines.join(', or ')}`
}

/** The names that a flag has in all commands; a letter may have several. */
function namesOf(wanted: string, catalog: Catalog): string[] {
  if (wanted.length > 1) return [wanted]
  return [...catalog.values()].flatMap((shape) => findFlag(shape, `-${wanted}`)?.name ?? [])
}

/** What a word attaches to a flag, `--format=json`; empty for the flag alone, undefined for another word. */
function valueAttached(word: string, flag: string): string | undefined {
  if (word === flag) return ''
  return word.startsWith(`${flag}=`) ? word.slice(flag.length + 1) : undefined
}

function secretHint(isPassword: boolean, known: readonly string[]): string {
  const flags = known.filter((flag) => /^(password-|generate-password)/.test(flag)).map((flag) => `--${flag}`)
  if (isPassword) {
    const use = flags.length === 0 ? '' : ` Use ${flags.join(', or ')}.`
    return `Do not pass a password as an argument, because other users of this machine can read it.${use}`
  }
  return `Do not pass a key as an argument, because other users of this machine can read it. Set CHATCTL_API_KEY or CHATCTL_API_KEY_FILE, or sign in with: chatctl auth login --with-api-key.`
}
