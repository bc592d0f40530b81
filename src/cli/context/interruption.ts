/** 128 and the number of the signal, as a shell says it. SIGHUP is a terminal that was closed. */
const exitCodes = { SIGHUP: 129, SIGINT: 130, SIGQUIT: 131, SIGTERM: 143 } as const

/** Thrown through everything that waits when a person or the system ends the program. */
export class Interruption extends Error {
  readonly signal: keyof typeof exitCodes
  /** What helps after it. */
  readonly hint: string | undefined
  constructor(signal: keyof typeof exitCodes, hint?: string) {
    super(`ended by ${signal}`)
    this.signal = signal
    this.hint = hint
  }

  get exitCode(): number {
    return exitCodes[this.signal]
  }
}

/** Whether the reason of an aborted signal is this signal of the system. */
export function isInterruptedBy(signal: keyof typeof exitCodes, reason: unknown): boolean {
  return reason instanceof Interruption && reason.exitCode === exitCodes[signal]
}
