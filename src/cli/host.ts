import { resolve } from 'node:path'
import type { CredentialStore } from '../auth/credentials/credential-store.ts'
import type { KeychainOptions } from '../auth/credentials/keychain.ts'
import type { LocalModelServer } from '../contract/upstream-address.ts'
import type { Clock } from '../system/clock.ts'
import type { Interruption } from './context/interruption.ts'

/** This program: a package of files, or one executable file that contains them as assets. */
export interface Installation {
  readonly isExecutable: boolean
  /** Reads a file of the package, such as `package.json`. */
  readFile(name: string): Buffer
}

/**
 * What surrounds one run of a command line. `boot/process-host.ts` makes it of this process; a test
 * makes it of what it likes, as often as it likes in one process.
 */
export interface Host {
  readonly installation: Installation
  readonly platform: NodeJS.Platform
  readonly env: NodeJS.ProcessEnv
  /**
   * Where relative names of files are looked for; undefined for the working directory of the process,
   * in which the system finds them as they are named.
   */
  readonly cwd: string | undefined
  readonly stdin: NodeJS.ReadStream
  readonly stdout: NodeJS.WriteStream
  readonly stderr: NodeJS.WriteStream
  /** Whether each stream is a terminal, for merely looking at `stdin` of a process opens it. */
  readonly isTerminal: Readonly<Record<'stdin' | 'stdout' | 'stderr', boolean>>
  /** Whether stdin is the null device: opening it to read nothing would slow down the start. */
  readonly isStdinNull: boolean
  /** Whether the shell has closed stdout (`>&-`), so that a result would be lost. */
  isStdoutClosed(): boolean
  /** Aborted when a person or the system ends the run; its reason is an `Interruption`. */
  readonly signal: AbortSignal
  /**
   * Has a signal, such as that of Ctrl-C, mean something else than the end of the run.
   * @returns to be called when it means that again
   */
  takeSignal(signal: Interruption['signal'], taker: () => void): () => void
  /**
   * Sends the signal of a key that a terminal in raw mode leaves to the program. SIGTSTP goes to the whole job,
   * as it does from a terminal. Windows knows only SIGINT.
   */
  raise(signal: 'SIGINT' | 'SIGQUIT' | 'SIGTSTP'): void
  /**
   * Calls `resume` whenever a suspended process is continued.
   * @returns stops that
   */
  onContinue(resume: () => void): () => void
  /**
   * Calls `cleanup` where the process ends before the run does.
   * @returns withdraws it
   */
  onExit(cleanup: (exitCode: number) => void): () => void
  /** Is told that stdout has no reader any more. Where it returns, the run is aborted and ends with 0. */
  onReaderGone(): void
  /** Gives the work that is under way so many ms to end in good order; a second signal ends it at once. */
  allowGrace(ms: number): void
  /**
   * Says that something may not end by itself: a native call on another thread, or, where `stop` can
   * end it, another process.
   * @returns to be called when it has ended
   */
  untilEnded(stop?: () => void): () => void
  /**
   * For work on any amount of data: has memory kept small at the price of some speed.
   *
   * @param most what matters most (default: memory). With `speed`, memory grows a little with the amount of data.
   */
  keepHeapSmall(most?: 'memory' | 'speed'): void
  /** Says before the first connection that the service will be asked for a streamed reply. */
  expectStreamedReply(): void
  /** The model servers that chatctl offers to a person if they run on this machine. */
  readonly modelServers: readonly LocalModelServer[]
  readonly clock: Clock
  /** Takes the lines of a log; undefined for descriptor 2. */
  readonly log: { write(line: string): void } | undefined
  openKeychain(options: Pick<KeychainOptions, 'timeout' | 'onWait' | 'mayAsk'>): CredentialStore
  /** Whether a browser can probably be opened: there is a display, or the person has named a browser. */
  readonly hasDisplay: boolean
  /** @returns whether a browser was opened. Pending while it runs, where it is its own launcher. */
  openBrowser(url: string): Promise<boolean>
}

/** The path by which the system finds what a person names. */
export function resolvePath({ cwd }: Pick<Host, 'cwd'>, name: string): string {
  return cwd === undefined || name === '' ? name : resolve(cwd, name)
}
