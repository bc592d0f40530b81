import type { Client } from '../client/client.ts'
import type { ClientEvent } from '../client/client-event.ts'
import type { ClientOptions } from '../client/client-options.ts'
import type { ContextOwner } from '../config/last-context.ts'
import type { Failure } from '../contract/failure.ts'
import type { StreamFormat } from '../contract/stream-event.ts'
import type { Clock } from '../system/clock.ts'
import type { Directories } from '../system/directories.ts'
import type { EditorStyle } from '../terminal/editor/editor-options.ts'
import type { TextStyle } from '../terminal/markdown/text-style.ts'
import type { Terminal } from '../terminal/screen/terminal.ts'

/** Where a session begins. */
export type Beginning =
  | { kind: 'new' }
  /** A session of this machine goes on. */
  | { kind: 'transcript'; path: string }
  /** A conversation that the service keeps. */
  | { kind: 'context'; id: string }

export type SessionStyle = TextStyle & EditorStyle

/** What a session is given: the outside of it, and what the command line said. */
export interface SessionOptions {
  terminal: Terminal
  connect(observe: ClientOptions['observe']): Promise<Client>
  clock: Clock
  /** Ends the session from outside. */
  signal: AbortSignal
  begin: Beginning
  /** Whose conversations these are. */
  owner: ContextOwner
  /** The service, for a person. */
  serviceName: string
  model: string | undefined
  /** Whether the command line names it, rather than a default. */
  isModelAsked: boolean
  streamFormat: StreamFormat | undefined
  /** Raw text, and nothing that moves. */
  isPlain: boolean
  /** Undefined without color. */
  style: SessionStyle | undefined
  /** An address as the terminal shows it best. */
  link: ((text: string, url: string) => string) | undefined
  /** What the client does, for debugging; undefined where nobody asked. */
  describeEvent: ((event: ClientEvent) => string) | undefined
  /** Leave out what is only good to know: see `SessionOutput`. */
  isQuiet: boolean
  directories: Directories
  env: NodeJS.ProcessEnv
  /** Where relative names of files are looked for; undefined for the working directory of the process. */
  cwd: string | undefined
  /** Directory of the transcripts. */
  sessionsDirectory: string
  /** File of what was typed before. */
  recallPath: string
  /** What `$VISUAL` or `$EDITOR` says. */
  editorCommand: string | undefined
  /** Remembers the conversation as the last one. @throws Error that says what this means */
  rememberContext(contextId: string): Promise<void>
  /** The command line that goes on with a session, of this connection or of another profile. */
  resumeCommand(id: string, profile?: string): string
  /** The command line that shows all of a session. */
  showCommand(id: string): string
  /** What to say about a failure. */
  describeFailure(failure: Failure): { message: string; hint: string | undefined }
}
