import type { Message } from '../../contract/resources/completion.ts'
import { splitFiles } from '../../contract/resources/file-block.ts'
import { oneLine } from '../../terminal/strip-controls.ts'
import type { Delivery } from './transcript-line.ts'
import type { Turn } from './turn.ts'

/** The name of the profile with an ID. Undefined if the profile was removed. */
export type ProfileNameOf = (id: string) => string | undefined

/** The given name of a session, else the first line of the first message, or the first file if there is only that. */
export function nameOf({ name, turns: [first] }: Pick<Transcript, 'name' | 'turns'>): string | undefined {
  if (name !== undefined || first === undefined) return name
  const { text, files } = splitFiles(first.user)
  return oneLine(/\S.*/.exec(text)?.[0] ?? files[0]?.name ?? '') || undefined
}

/** A name as it is stored: one line of at most 100 characters. */
export function cleanName(name: string): string {
  return oneLine(name, 100)
}

/** The profile of a session, for a user. */
export function describeProfile(id: string, nameOf: ProfileNameOf): string {
  return `profile ${nameOf(id) ?? `${id} (removed)`}`
}

/** A message of a conversation, and the turn of this machine that it comes from, if it is one. */
export interface SaidMessage extends Message {
  turn?: Turn | undefined
}

export interface Transcript {
  id: string
  /** When it began and when it was last written, ISO 8601. Empty if unknown. */
  at: string
  updatedAt: string
  profile: string | null
  /** Null for the embedded service. */
  baseUrl: string | null
  /** The ID of the user whose conversation it is, as the service told it. */
  user?: string | undefined
  name?: string
  /** The session, or the conversation on the service, of which this one is a fork. */
  forkedFrom?: string | undefined
  /** The conversation on the service. This and all options are those in force at the end. */
  contextId?: string
  mode: 'context' | 'completions'
  /** The requested model. */
  model?: string
  system?: string
  temperature?: number
  maxTokens?: number
  turns: Turn[]
  /**
   * The messages that a completion sends: the last `conversation` line, and the turns since. Prompts
   * without a reply are omitted.
   */
  conversation: SaidMessage[]
  /** Where its turns are: `local` if some are only here, else `unknown`, `stored`, or `not_sent` if none was sent. */
  delivery: Delivery
  /** Whether the service has all messages of the conversation, also if replies come from completions. */
  isOnService: boolean
  /** Whether only the service has earlier messages. */
  lacksBeginning: boolean
}

/** A session, as lists show it. Its `model` may be the one that the last reply named. */
export interface TranscriptSummary extends Omit<Transcript, 'turns' | 'conversation'> {
  path: string
  turns: number
  /** Whether the name was given, and is not the automatic one. */
  isNamed: boolean
  firstMessage?: string
}
