import { holdsSecret } from '../command-line.ts'
import { sharedFlags } from '../flags/shared-flags.ts'

/** A flag, as a command or the manifest declares it. */
export interface ReadableFlag {
  name: string
  type: 'boolean' | 'option'
  char?: string | undefined
  allowNo?: boolean | undefined
  /** `VALUE`; `[VALUE]` if it may be omitted; `[=VALUE]` if it may be omitted, and is never the next word. */
  helpValue?: string | string[] | undefined
}

const shared: readonly ReadableFlag[] = namedFlags(sharedFlags)

export function namedFlags<F extends object>(flags: Readonly<Record<string, F>>): (F & { name: string })[] {
  return Object.entries(flags).map(([name, flag]) => ({ ...flag, name }))
}

/** A command line, divided at the name of its command. */
export interface CommandLine {
  /** The command, such as `settings:api:set`; undefined if the line names none. */
  id: string | undefined
  /** The words of its name, or of the group of commands that the line names. */
  path: readonly string[]
  /** The shared flags before the command, as in `chatctl -p work users get ID`, and after its group. */
  leading: readonly string[]
  /** The words after the name. */
  rest: readonly string[]
  /** Whether it asks for help: `help settings`, `settings --help`. */
  isHelp: boolean
}

/** @param ids all commands that may be named */
export function readLine(words: readonly string[], ids: readonly string[]): CommandLine {
  const path: string[] = []
  const leading: string[] = []
  const isName = (word: string): boolean => {
    const id = [...path, word].join(':')
    return !word.includes(':') && ids.some((known) => known === id || known.startsWith(`${id}:`))
  }
  let isHelp = false
  let at = 0
  for (let word = words[at]; word !== undefined; word = words[at]) {
    const given = readFlags(word, shared).at(-1)
    // What follows the flags of a command are arguments.
    if (given && !ids.includes(path.join(':'))) {
      const isNextValue = given.flag.type === 'option' && given.value === undefined
      leading.push(...words.slice(at, isNextValue ? at + 2 : at + 1))
      at += isNextValue ? 2 : 1
    } else if (word === 'help' && path.length === 0 && !isHelp) {
      isHelp = true
      at++
    } else if (isName(word)) {
      path.push(word)
      at++
    } else break
  }
  const rest = words.slice(at)
  const id = path.join(':')
  isHelp ||= asksForHelp(rest)
  return { id: ids.includes(id) ? id : undefined, path, leading, rest, isHelp }
}

/**
 * A line that means `chat send` without its name: its first argument has white space, or follows `--` or `--continue`,
 * after which no command can be.
 * @param known the flags of `chat send`
 * @returns undefined for another line, for a command in quotes, and for what looks like a secret
 */
export function readShortForm(
  words: readonly string[],
  ids: readonly string[],
  known: readonly ReadableFlag[],
): CommandLine | undefined {
  const { args, flags, isPastFlags } = readWords(words, known)
  // The last word after --file may be the message.
  const [text = flags.get('file') ?? ''] = args
  const isAfterDashes = isPastFlags && args.length === words.length - words.indexOf('--') - 1
  if (!isAfterDashes && !flags.has('continue')) {
    const { path, rest } = readLine(text.trim().split(/\s+/), ids)
    if (!/\s/.test(text.trim()) || (path.length > 0 && rest.length === 0)) return undefined
  }
  if ([text, ...args].some(holdsSecret)) return undefined
  return { id: 'chat:send', path: ['chat', 'send'], leading: [], rest: words, isHelp: asksForHelp(words) }
}

function asksForHelp(words: readonly string[]): boolean {
  const beforeArguments = words.includes('--') ? words.slice(0, words.indexOf('--')) : words
  return beforeArguments.some((word) => word === '--help' || word === '-h')
}

/** The words before the first flag. */
export function wordsBeforeFlags(words: readonly string[]): readonly string[] {
  const end = words.findIndex((word) => word.startsWith('-'))
  return end === -1 ? words : words.slice(0, end)
}

/** What the words after the name of a command say, as far as they have been typed. */
export interface GivenWords<F> {
  args: readonly string[]
  /** By the names of the flags, the last value of each; undefined for one without. */
  flags: ReadonlyMap<string, string | undefined>
  /** The last flag if it has no value: the next word may be it. */
  awaiting: F | undefined
  /** Whether `--` has ended the flags. */
  isPastFlags: boolean
}

/** Flags and arguments, which may be in any order. A flag that is not known is skipped. */
export function readWords<F extends ReadableFlag>(
  words: readonly string[],
  known: readonly F[],
): GivenWords<F> {
  const args: string[] = []
  const flags = new Map<string, string | undefined>()
  let awaiting: F | undefined
  let isPastFlags = false
  for (const word of words) {
    if (awaiting && takesValue(awaiting, word, flags)) {
      flags.set(awaiting.name, word)
      if (!takesSeveral(awaiting)) awaiting = undefined
      continue
    }
    awaiting = undefined
    if (isPastFlags || !word.startsWith('-') || word === '-') args.push(word)
    else if (word === '--') isPastFlags = true
    else {
      for (const { flag, value } of readFlags(word, known)) {
        flags.set(flag.name, value)
        awaiting = flag.type === 'option' && value === undefined ? flag : undefined
      }
    }
  }
  return { args, flags, awaiting, isPastFlags }
}

/** The values of the shared flags of a line that may be invalid. */
export function readSharedFlags(words: readonly string[]): ReadonlyMap<string, string | undefined> {
  return readWords(words, shared).flags
}

/** Whether a word is a flag that only some commands have. */
export function isOwnFlag(word: string): boolean {
  return word.startsWith('-') && readFlags(word, shared).length === 0
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

export function isNegatable({ type, allowNo }: ReadableFlag): boolean {
  return type === 'boolean' && allowNo === true
}

export function mayOmitValue({ type, helpValue }: Omit<ReadableFlag, 'name'>): boolean {
  return type === 'option' && String(helpValue).startsWith('[')
}

export function isValueAttached({ helpValue }: Pick<ReadableFlag, 'helpValue'>): boolean {
  return String(helpValue).startsWith('[=')
}

/** Whether all words after a flag are its values, up to the next flag. */
function takesSeveral({ type, helpValue }: ReadableFlag): boolean {
  return type === 'option' && String(helpValue).endsWith('...')
}

/**
 * Whether a word after a flag without an attached value is its value.
 * @param given the flags before the word, with the last value of each
 */
export function takesValue(
  flag: ReadableFlag,
  word: string,
  given: ReadonlyMap<string, string | undefined>,
): boolean {
  if (flag.type === 'boolean' || isValueAttached(flag)) return false
  if (takesSeveral(flag) && given.get(flag.name) !== undefined && /^-./.test(word)) return false
  return !mayOmitValue(flag) || !word.startsWith('-')
}
