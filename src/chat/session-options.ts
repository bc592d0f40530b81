import type { Client } from '../client/client.ts'
import type { ClientOptions } from '../client/client-options.ts'
import type { ModelAliases } from '../config/model-aliases.ts'
import type { Failure } from '../contract/failure.ts'
import type { StreamFormat } from '../contract/resources/stream-event.ts'
import type { Run } from '../run/run.ts'
import type { EditorStyle } from '../terminal/editor/completer.ts'
import type { TextStyle } from '../terminal/markdown/text-style.ts'
import type { Terminal } from '../terminal/screen/screen.ts'
import type { ConversationStart } from './conversation-start.ts'
import type { TranscriptSummary } from './transcript/transcript.ts'

export type SessionStyle = TextStyle & EditorStyle

/** A message that /search finds. */
interface FoundMessage {
  time: string | null
  role: string | null
  session_id: string | null
  context_id: string | null
  snippet: string
}

/** Sessions among which a user chooses. */
export interface SessionList {
  /** Finds the sessions in which all typed words occur, the last used first. */
  find(typed: string): Promise<readonly TranscriptSummary[]>
  /** The time, the name, and the beginning of the last message; only the name if there is little room. */
  row(session: TranscriptSummary, columns: number): string
}

/** The environment of a session, and the options of the command line. */
export interface SessionOptions {
  run: Run
  begin: ConversationStart
  /** Begins with a copy of the conversation, up to the message of the user with this number, or of all of it. */
  fork: string | true | undefined
  /** The first message. */
  message: string | undefined
  /** The system message. */
  system: string | undefined
  model: string | undefined
  /** Whether the command line names the model. */
  isModelExplicit: boolean
  connect(observe: ClientOptions['observe']): Promise<Client>
  serviceName: string
  /** The name of the profile in use. */
  profile?: string | undefined
  aliases: ModelAliases
  /** Whether the first listed model replies if none is chosen, and to ask for the list costs no quota. */
  firstModelReplies: boolean
  streamFormat: StreamFormat | undefined
  terminal: Terminal
  /** Raw text, and nothing on the screen that changes by itself. */
  isPlain: boolean
  /** Undefined with `isPlain`. */
  style: SessionStyle | undefined
  /** Makes text clickable. Undefined if the terminal does not support links. */
  link: ((text: string, url: string) => string) | undefined
  /** Omit notes: see `SessionOutput`. */
  isQuiet: boolean
  platform: NodeJS.Platform
  /** Maximum size of a file in a message (default: 1 MiB). */
  maxFileBytes: number | undefined
  /** Whether messages and replies are recorded. */
  isRecorded: boolean
  /** File with the input history. Undefined keeps it in memory. */
  inputHistoryPath: string | undefined
  /** Value of `$VISUAL` or `$EDITOR`. */
  editorCommand: string | undefined
  /** Finds messages of the owner, the newest first. @throws Failure `usage` if there is no word to search */
  search(words: string): Promise<{ results: readonly FoundMessage[]; hasMore: boolean }>
  /** Runs work with the sessions of the owner, except the one that is open. */
  withSessionList<T>(open: string | undefined, work: (list: SessionList) => Promise<T>): Promise<T>
  /** Lets the user choose one. @returns undefined if the user leaves */
  pickSession(list: SessionList): Promise<TranscriptSummary | undefined>
  /** Records the conversation as the last one of this profile, or says why it cannot. */
  rememberContext(contextId: string): Promise<void>
  /** The command that resumes a session with this service and profile. */
  resumeCommand(id: string): string
  /** What to say about a failure. */
  describeFailure(failure: Failure): { message: string; hint: string | undefined }
}
