import type { Command } from '@oclif/core/command'
import type { View } from '../../view/format/view.ts'
import { takesNextWord } from '../flags/optional-value.ts'

/** A flag as the manifest describes it. */
export type Flag = Command.Flag.Cached

/** What the value of an argument is, as far as completion can offer some. */
export type ValueKind =
  | 'settings key'
  | 'settings assignment'
  | 'configuration key'
  | 'configuration value'
  | 'profile'
  | 'session'
  | 'prompt'
  | 'permissions of a user'
  | 'method'
  | 'endpoint'

/** A command as the manifest describes it, with what `BaseCommand` has it declare. */
export type DeclaredCommand = Command.Loadable & {
  view?: Pick<View, 'columns'>
  completes?: Readonly<Record<string, ValueKind>>
  documentFormats?: readonly string[]
  offersMarkdown?: boolean
}

/** What a command line says, as far as it has been typed. */
export interface TypedLine {
  command: DeclaredCommand | undefined
  /** The words of the command's name; of a line that names none yet, all words before the first flag. */
  path: readonly string[]
  args: readonly string[]
  /** By the names of the flags, the last value of each; undefined for one without. */
  flags: ReadonlyMap<string, string | undefined>
  /** The last flag if it has no value: the next word may be it. */
  awaiting: Flag | undefined
  /** Whether `--` has ended the flags. */
  isPastFlags: boolean
  /** Whether the next word may belong to the name of the command. */
  isNameOpen: boolean
  /** Those that the next word may be one of. */
  known: readonly Flag[]
}

/**
 * Reads whole words as the program does: shared flags may stand before the command, all others and
 * the arguments behind it in any order.
 */
export function readTypedLine(words: readonly string[], commands: readonly DeclaredCommand[]): TypedLine {
  // Every command has them.
  const shared = Object.values(commands[0]?.flags ?? {}).filter(({ helpGroup }) => helpGroup === 'GLOBAL')
  const before = words.slice(0, countFlagWords(words, shared))
  const named = words.slice(before.length)
  const firstFlag = named.findIndex((word) => word.startsWith('-'))
  const leading = firstFlag === -1 ? named : named.slice(0, firstFlag)
  const command = longestMatch(leading, commands)
  const path = command ? command.id.split(':') : leading
  const known = command ? Object.values(command.flags) : shared
  const behind = named.slice(path.length)
  const args: string[] = []
  const flags = new Map<string, string | undefined>()
  let awaiting: Flag | undefined
  let isPastFlags = false
  for (const word of [...before, ...behind]) {
    if (awaiting && takesValue(awaiting, word, flags)) {
      flags.set(awaiting.name, word)
      if (!takesSeveral(awaiting)) awaiting = undefined
      continue
    }
    awaiting = undefined
    if (isPastFlags) args.push(word)
    else if (word === '--') isPastFlags = true
    else if (word.startsWith('-') && word !== '-') {
      for (const { flag, value } of readFlags(word, known)) {
        flags.set(flag.name, value)
        awaiting = flag.type === 'option' && value === undefined ? flag : undefined
      }
    } else {
      args.push(word)
      awaiting = undefined
    }
  }
  const isNameOpen = behind.length === 0 && awaiting === undefined
  return { command, path, args, flags, awaiting, isPastFlags, isNameOpen, known }
}

/** How many words at the beginning are shared flags and their values. */
function countFlagWords(words: readonly string[], shared: readonly Flag[]): number {
  let count = 0
  for (let word = words[0]; word?.startsWith('-'); word = words[count]) {
    const given = readFlags(word, shared).at(-1)
    if (!given) break
    count += given.flag.type === 'option' && given.value === undefined ? 2 : 1
  }
  return count
}

/** What of a flag decides how it is given. */
interface ReadableFlag {
  name: string
  type: 'boolean' | 'option'
  char?: string | undefined
  allowNo?: boolean | undefined
}

interface GivenFlag<F> {
  flag: F
  value: string | undefined
  /** What of the word stands before the value. */
  prefix: string
}

/** The flags that one word gives: `--name`, `--no-name`, `--name=value`, `-n`, `-qn`, `-nvalue`, `-n=value`. */
export function readFlags<F extends ReadableFlag>(word: string, flags: readonly F[]): GivenFlag<F>[] {
  if (!word.startsWith('-')) return []
  const [, name, value] = /^--([^=]+)(?:=(.*))?$/s.exec(word) ?? []
  if (name !== undefined) {
    const flag = flags.find((one) => one.name === name || (isNegatable(one) && `no-${one.name}` === name))
    return flag ? [{ flag, value, prefix: `--${name}=` }] : []
  }
  const given: GivenFlag<F>[] = []
  for (let at = 1; at < word.length; at++) {
    const flag = flags.find(({ char }) => char === word[at])
    if (!flag) break
    if (flag.type === 'boolean') {
      given.push({ flag, value: undefined, prefix: '' })
      continue
    }
    const start = word[at + 1] === '=' ? at + 2 : at + 1
    const rest = start < word.length ? word.slice(start) : undefined
    given.push({ flag, value: rest, prefix: word.slice(0, start) })
    break
  }
  return given
}

/** Whether all words after a flag are its values, up to the next flag. */
function takesSeveral(flag: Flag): boolean {
  return flag.type === 'option' && String(flag.helpValue).endsWith('...')
}

/**
 * Whether a word after a flag is its value.
 *
 * @param given the flags before the word, with the last value of each
 */
export function takesValue(
  awaiting: Flag,
  word: string,
  given: ReadonlyMap<string, string | undefined>,
): boolean {
  const isEnd = takesSeveral(awaiting) && given.get(awaiting.name) !== undefined && /^-./.test(word)
  return takesNextWord(awaiting, word) && !isEnd
}

export function isNegatable(flag: Pick<ReadableFlag, 'type' | 'allowNo'>): boolean {
  return flag.type === 'boolean' && flag.allowNo === true
}

function longestMatch(
  words: readonly string[],
  commands: readonly DeclaredCommand[],
): Command.Loadable | undefined {
  for (let length = words.length; length > 0; length--) {
    const id = words.slice(0, length).join(':')
    const command = commands.find((known) => known.id === id)
    // A topic below a command, such as `chat prompts`, is no argument of the command.
    if (command || commands.some((known) => known.id.startsWith(`${id}:`))) return command
  }
  return undefined
}
