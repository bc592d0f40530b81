import type { Command } from '@oclif/core/command'
import type { Configuration } from '../../config/configuration-file.ts'
import { oneLine } from '../../terminal/strip-controls.ts'
import type { View } from '../../view/format/view.ts'
import type { GivenWords } from '../line/read-line.ts'

/** A flag as the manifest describes it. */
export type Flag = Command.Flag.Cached

/** A command line, as far as it has been typed. */
export interface TypedLine extends GivenWords<Flag> {
  command: DeclaredCommand | undefined
  /** The words of the name of the command, or of the group of commands. */
  path: readonly string[]
  /** The flags that may follow. */
  known: readonly Flag[]
  /** Whether the next word may belong to the name of the command. */
  isNameOpen: boolean
}

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

/** Values from this machine or the service. A failure gives an empty list. */
export interface LiveValues {
  /** Empty if it cannot be read. */
  configuration(): Configuration
  /** @param flags of the line, which select the service */
  models(flags: { profile?: string | undefined; base_url?: string | undefined }): Promise<readonly string[]>
  /** The variables of each prompt of this machine, by its name. */
  prompts(): Promise<ReadonlyMap<string, readonly string[]>>
  /** The latest sessions of this machine in which a word occurs. */
  sessions(word: string): Promise<readonly KnownSession[]>
}

interface KnownSession {
  id: string
  contextId?: string | undefined
  name?: string | undefined
  /** Its time, name, and last message. */
  title?: string | undefined
}

export interface Candidate {
  /** The whole word. */
  value: string
  description?: string | undefined
  /** Whether the word continues, so that no space follows it. */
  isOpen?: boolean
}

export interface Suggestions {
  candidates: readonly Candidate[]
  /** Which paths the shell completes itself. */
  paths?: 'files' | 'directories'
  /** Whether the candidates match the word, but need not begin with it. */
  areFound?: boolean
}

export const nothing: Suggestions = { candidates: [] }

export function candidates(values: Iterable<string>): Suggestions {
  return { candidates: Array.from(values, (value) => ({ value })) }
}

/** Maximum length of a description. The first message of a session may be long. */
const longestDescription = 80

/** The candidates that start with `word`, sorted, without duplicates and control characters. */
export function startingWith(word: string, { candidates, ...rest }: Suggestions): Suggestions {
  const known = new Map<string, Candidate>()
  for (const candidate of candidates) {
    const { value, description } = candidate
    if (!(rest.areFound || value.startsWith(word)) || /[\p{Cc}\p{Zl}\p{Zp}]/u.test(value) || known.has(value))
      continue
    known.set(value, { ...candidate, description: description && oneLine(description, longestDescription) })
  }
  return { ...rest, candidates: [...known.values()].sort((a, b) => (a.value < b.value ? -1 : 1)) }
}

/** Adds the start of the word, such as `--output=`, to each candidate. */
export function withPrefix(prefix: string, { candidates, ...rest }: Suggestions): Suggestions {
  return { ...rest, candidates: candidates.map((one) => ({ ...one, value: prefix + one.value })) }
}
