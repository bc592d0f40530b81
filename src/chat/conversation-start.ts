import type { Client } from '../client/client.ts'
import { Failure } from '../contract/failure.ts'
import { demandUser } from '../run/demand-user.ts'
import type { Run } from '../run/run.ts'
import type { Conversation, Parameters } from './conversation.ts'
import type { JoinedMessage } from './earlier-messages.ts'
import { describeProfile, type Transcript } from './transcript/transcript.ts'
import type { TranscriptWriter } from './transcript/transcript-writer.ts'

export type ConversationStart =
  | { kind: 'new'; path?: undefined; writer?: undefined }
  /** Resumes a session of this machine. A `writer` holds the lock of its transcript. */
  | { kind: 'transcript'; path: string; writer?: TranscriptWriter | undefined }
  /** Continues a conversation that the service stores. `path` is that of its transcript, if it is known. */
  | { kind: 'context'; id: string; path?: string | undefined; writer?: TranscriptWriter | undefined }

export interface OpenOptions {
  run: Run
  client: Client
  begin: ConversationStart
  /** Begins with a copy of the conversation, up to the message of the user with this number, or of all of it. */
  fork?: string | true | undefined
  /** The conversation in memory that a fork copies if it begins with no other. */
  current?: Conversation
  model: string | undefined
  /** Whether the command line, or a variable, names the model. */
  isModelExplicit: boolean
  /** Those that are given replace those of an earlier conversation. */
  parameters?: Parameters
  isRecorded: boolean
  /** Whether the conversation is compared with the history of the service, to show both. */
  isShown: boolean
  signal: AbortSignal
  /** The transcript that is open already. */
  openPath?: string | undefined
  /** Called if the conversation cannot be recorded any longer. */
  onLost(failure: Failure): void
}

/** What a conversation begins with. */
export interface Beginning {
  conversation: Conversation
  /** Continues the transcript. Undefined for a new one, or if another process has it open. */
  writer?: TranscriptWriter | undefined
  transcript?: Transcript
  /** Whether another process has the transcript open. */
  isShared?: boolean
  entries?: readonly JoinedMessage[]
  notes?: readonly (string | false | undefined)[]
}

/** The owner of a new transcript. */
export const transcriptOwner = (run: Run) => ({ ...run.contextOwner(), user: run.knownUser() })

/**
 * Refuses a transcript of another user, or asks in a terminal.
 * @throws Failure `usage` for another service or profile; `conflict`, `declined` for another user
 */
export async function demandOwn(run: Run, { id, profile, baseUrl, user }: Transcript): Promise<void> {
  const owner = run.contextOwner()
  if (profile === (owner.profile ?? null) && baseUrl === (owner.baseUrl ?? null)) {
    if (user === undefined) return
    const hint = 'Start a new conversation, or use the profile of that user.'
    const subject = `The session ${id}`
    await demandUser(run, { subject, owner: user, user: await run.user(), question: 'Continue it?', hint })
    return
  }
  const name = profile === null ? undefined : run.profileNameOf(profile)
  const shown = profile && describeProfile(profile, run.profileNameOf)
  const other = [baseUrl ?? 'the embedded service', shown].filter(Boolean).join(', ')
  throw new Failure('usage', `Session ${id} belongs to another service or profile: ${other}`, {
    ...(profile && !name
      ? { hint: `Print it with: ${run.commandFor('chat', 'show', id)}` }
      : { advice: [{ code: 'name_service_of_session', session: id, baseUrl, profile: name }] }),
  })
}
