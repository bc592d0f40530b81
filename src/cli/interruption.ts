import { endProcess } from '../system/end-process.ts'
import { endingSignals } from '../system/leave-signals-to-system.ts'

/** 128 and the number of the signal, as a shell says it. SIGHUP is a terminal that was closed. */
const exitCodes = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const

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
export function isEndedBy(signal: keyof typeof exitCodes, reason: unknown): boolean {
  return reason instanceof Interruption && reason.exitCode === exitCodes[signal]
}

/** Work that does not see the signal gets this long, in ms, before the process ends anyway. */
let grace = 5_000

/** Gives the work that is under way longer to end in good order; a second signal ends it at once. */
export function allowGrace(ms: number): void {
  grace = ms
}

const controller = new AbortController()

/** Aborted by the first of these signals; its reason is the `Interruption`. */
export const interruption: AbortSignal = controller.signal

let interruptTaker: (() => void) | undefined

/**
 * Has Ctrl-C mean something else than the end of the program.
 * @returns to be called when it means that again
 */
export function takeInterrupts(onInterrupt: () => void): () => void {
  const before = interruptTaker
  interruptTaker = onInterrupt
  return () => {
    interruptTaker = before
  }
}

/** Two signals within so many ms are one: wrappers such as timeout(1) send theirs to a process and to its group. */
const echo = 50

/** The first signal ends what runs in good order, a second one at once. */
export function watchSignals(): void {
  let first = 0
  for (const signal of endingSignals) {
    process.on(signal, () => {
      if (signal === 'SIGINT' && interruptTaker) return interruptTaker()
      const reason = new Interruption(signal)
      if (controller.signal.aborted) {
        if (performance.now() - first < echo) return
        endProcess(reason.exitCode)
      }
      first = performance.now()
      controller.abort(reason)
      setTimeout(() => endProcess(reason.exitCode), grace).unref()
    })
  }
}

/** Waits for `work`, or rejects with the signal's reason as soon as it is aborted. */
export async function unlessInterrupted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  let onAbort: (() => void) | undefined
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    if (onAbort) signal.removeEventListener('abort', onAbort)
  }
}
