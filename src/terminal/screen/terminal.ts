/** What a session hears from the terminal. */
export interface TerminalListener {
  /** What was typed, as it came; in lines where the terminal edits them itself. */
  onInput(text: string): void
  /** Nothing more can be typed. */
  onEnd(): void
  /** Ctrl-C, where the terminal makes a signal of it rather than a key. */
  onInterrupt(): void
  /** The size has changed, or something else has been on the screen. */
  onRedraw(): void
  /** What another part of the program says to the person. */
  onLine(text: string): void
}

/** The terminal that a session talks through: the real one is in `cli/input/session-terminal.ts`. */
export interface Terminal {
  /** Cells. */
  readonly columns: number
  readonly rows: number
  /** Whether the cursor can be moved; where it cannot, the terminal edits lines itself. */
  readonly addressable: boolean
  /** Whether it is ours: no other program has it, and the process is not suspended. */
  readonly isOpen: boolean
  write(text: string): void
  /** Resolves when the terminal has taken what was written; undefined where it has. */
  drained(): Promise<void> | undefined
  /** Takes the keyboard. */
  open(listener: TerminalListener): void
  /** Gives the terminal back as it was. */
  close(): void
  /** Runs another program on the terminal. */
  lend<T>(use: () => Promise<T>): Promise<T>
  /** Stops this process as Ctrl-Z does, until it is continued. */
  suspend(): void
}
