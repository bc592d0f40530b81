import { resolve } from 'node:path'
import type { CredentialStore } from '../auth/credentials/credential-store.ts'
import type { KeychainOptions } from '../auth/credentials/keychain.ts'
import type { LocalModelServer } from '../contract/model-server-address.ts'
import type { Clock } from '../system/clock.ts'
import type { Interruption } from './context/interruption.ts'

/** This program: a package of files, or one executable file that contains them as assets. */
export interface Installation {
  readonly isExecutable: boolean
  /** Reads a file of the package, such as `package.json`. */
  readFile(name: string): Buffer
}

/**
 * The environment of one run of a command line. `boot/process-host.ts` creates it from this process. A test can create
 * any number of them in one process.
 */
export interface Host {
  readonly installation: Installation
  readonly platform: NodeJS.Platform
  readonly env: NodeJS.ProcessEnv
  /** The directory of relative file names; undefined for the working directory of the process. */
  readonly cwd: string | undefined
  readonly clock: Clock
  /** The model servers that chatctl offers if they run on this machine. */
  readonly modelServers: readonly LocalModelServer[]
  /** Receives the lines of a log, and never blocks; undefined if stderr is a file. */
  readonly log: { write(line: string): void } | undefined
  readonly stdin: NodeJS.ReadStream
  readonly stdout: NodeJS.WriteStream
  readonly stderr: NodeJS.WriteStream
  /** Whether each stream is a terminal. Reading `stdin` itself would open it. */
  readonly isTerminal: Readonly<Record<'stdin' | 'stdout' | 'stderr', boolean>>
  /** Whether stdin is the null device: opening it to read nothing would slow down the start. */
  readonly isStdinNull: boolean
  /** Called if stdout has no reader any more. If it returns, the run is aborted and ends with 0. */
  onReaderGone(): void
  /** Aborted by a signal that ends the run. Its reason is an `Interruption`. */
  readonly signal: AbortSignal
  /** Replaces the effect of a signal such as that of Ctrl-C. @returns restores the previous effect */
  takeSignal(signal: Interruption['signal'], taker: () => void): () => void
  /**
   * Sends the signal of a key that a terminal in raw mode passes to the program. SIGTSTP goes to the whole job,
   * as it does from a terminal. Windows knows only SIGINT.
   */
  raise(signal: 'SIGINT' | 'SIGQUIT' | 'SIGTSTP'): void
  /** Calls `resume` each time a suspended process continues. @returns stops that */
  onContinue(resume: () => void): () => void
  /** Sets the grace period in ms after a signal. A second signal ends the process immediately. */
  allowGrace(ms: number): void
  /** Calls `cleanup` if the process ends before the run does. @returns withdraws it */
  onExit(cleanup: (exitCode: number) => void): () => void
  /**
   * Registers work that may not end by itself: a native call on another thread, or another process, which `stop`
   * ends.
   * @returns the function to call when the work has ended
   */
  untilEnded(stop?: () => void): () => void
  /** Called before the first connection if the service will be asked for a streamed reply. */
  expectStreamedReply(): void
  openKeychain(options: Pick<KeychainOptions, 'timeout' | 'onWait' | 'mayAsk'>): CredentialStore
  /** Whether a browser can probably be opened: there is a display, or the environment names a browser. */
  readonly hasDisplay: boolean
  /** @returns whether a browser was opened. Pending while the browser runs, if its command does not return earlier. */
  openBrowser(url: string): Promise<boolean>
}

/** The path of a file name on the command line. */
export function resolvePath({ cwd }: Pick<Host, 'cwd'>, name: string): string {
  return cwd === undefined || name === '' ? name : resolve(cwd, name)
}
