import type { Report } from '../editor/key.ts'

/** Receives the events of a terminal. */
export interface TerminalListener {
  /** Typed characters; whole lines if the terminal edits them itself. */
  onInput(text: string): void
  /** The input has ended. */
  onEnd(): void
  /** Ctrl-C, if the terminal sends SIGINT instead of a character. */
  onInterrupt(): void
  /** The size has changed, or another program has drawn on the screen. */
  onRedraw(): void
  /** Another part of the program shows a line to the person. */
  onLine(text: string): void
}

/** The terminal of a session. `cli/input/session-terminal.ts` implements it. */
export interface Terminal {
  /** Cells. */
  readonly columns: number
  readonly rows: number
  /** Whether the cursor can be moved. If not, the terminal edits lines itself. */
  readonly addressable: boolean
  /** Whether the system can suspend a process. */
  readonly canSuspend: boolean
  /** Whether this process uses it: no other program does, and the process is not suspended. */
  readonly isOpen: boolean
  /** Whether a reply of the terminal to a query is due. */
  readonly awaitsReport: boolean
  write(text: string): void
  /** Resolves when the terminal has taken all output. Undefined if it already has. */
  drained(): Promise<void> | undefined
  /** Starts reading the keyboard. */
  open(listener: TerminalListener): void
  /** Takes a report of the terminal, which arrives in its input. */
  onReport(report: Report): void
  /** Shows in the tab of the terminal, if it can, whether work is in progress. */
  showProgress(isBusy: boolean): void
  /** Draws attention with a notification or the bell, if the window is not in use. */
  notify(text: string): void
  /** Restores the terminal. Resolves when it has. */
  close(): Promise<void>
  /** Lets another program use the terminal. */
  lend<T>(use: () => Promise<T>): Promise<T>
  /** Suspends this process, like Ctrl-Z in a shell. */
  suspend(): Promise<void>
}
