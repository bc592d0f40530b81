import { nearest } from '../../contract/nearest-word.ts'
import { isSecretName } from '../../contract/secret-fields.ts'
import { findAlias } from '../unknown-command/aliases.ts'
import {
  type Catalog,
  type CommandShape,
  findFlag,
  fits,
  suggestCommand,
} from '../unknown-command/command-catalog.ts'

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
  const command = line?.id.replaceAll(':', ' ')
  const alias = findAlias(`${command} --${name}`) ?? findAlias(`--${name}`)
  const ours = alias?.startsWith('--') ? alias.slice(2) : name
  const absent = ours === name ? alias : findAlias(`--${ours}`)
  if (asksSecret.test(name.toLowerCase())) return absent ?? secretHint(/pass/i.test(name), known)
  const shape = line?.catalog.get(line.id)
  const use = line && shape && { ...line, shape, flag }
  if (known.includes(ours)) return suggest(ours, use)
  if (name === 'help' && command) return `Did you mean: chatctl ${command} --help`
  const meant = name.length < 2 ? undefined : nearest(name, known)
  return (
    (use && (absent ?? hintOfArgument(ours, use) ?? hintOfSibling(ours, use))) ??
    (meant === undefined ? undefined : suggest(meant, use))
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
  const text = `Did you mean --${name}?`
  const words = use && replaceFlag(use, `--${name}`)
  if (!use || !words || isSecretName(use.flag) || !fits(use.shape, words)) return text
  return `${text} Run: ${suggestCommand(use.id.replaceAll(':', ' '), words, use.catalog)}`
}

/** `users get --id u1`: what is an argument of the command, and no flag. */
function hintOfArgument(wanted: string, use: Use): string | undefined {
  if (!Object.hasOwn(use.shape.args, wanted)) return undefined
  const line = suggestCommand(use.id.replaceAll(':', ' '), replaceFlag(use), use.catalog)
  return `${wanted.toUpperCase()} is an argument, not a flag: ${line}`
}

/** `chat send --temperature`: a flag of another command of the topic. */
function hintOfSibling(wanted: string, { id, argv, catalog, flag }: Use): string | undefined {
  const [topic = ''] = id.split(':')
  const word = flag.length === 2 ? flag : `--${wanted}`
  const siblings = [...catalog].filter(([other, shape]) => {
    return other !== id && other.startsWith(`${topic}:`) && findFlag(shape, word)
  })
  if (siblings.length === 0 || siblings.length > 3) return undefined
  const typed = siblings.length === 1 && !argv.includes('--') ? argv : []
  const lines = siblings.map(([other]) => suggestCommand(other.replaceAll(':', ' '), typed, catalog))
  return `${flag} is a flag of: ${lines.join(', or ')}`
}

/** The words after the command with another flag, or without one, and with the value that is attached to it. */
function replaceFlag({ argv, flag }: Use, ...names: string[]): string[] {
  return argv.flatMap((word) => {
    if (word === flag) return names
    return word.startsWith(`${flag}=`) ? [...names, word.slice(flag.length + 1)] : [word]
  })
}

function secretHint(isPassword: boolean, known: readonly string[]): string {
  const flags = known.filter((flag) => /^(password-|generate-password)/.test(flag)).map((flag) => `--${flag}`)
  if (isPassword) {
    const use = flags.length === 0 ? '' : ` Use ${flags.join(', or ')}.`
    return `Do not pass a password as an argument, because other users of this machine can read it.${use}`
  }
  return `Do not pass a key as an argument, because other users of this machine can read it. Set CHATCTL_API_KEY or CHATCTL_API_KEY_FILE, or sign in with: chatctl auth login --with-api-key.`
}
