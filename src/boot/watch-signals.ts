import type { Host } from '../cli/host.ts'
import { Interruption } from '../cli/interruption.ts'
import { endingSignals } from '../system/leave-signals-to-system.ts'
import { endProcess } from './end-process.ts'

/** Two signals within this many ms count as one: timeout(1) signals both the process and its group. */
const echo = 50

/** Grace period in ms: the process ends after it even if some work ignores the signal. */
const usualGrace = 5_000

/** The first signal aborts the run gracefully; a second one ends the process immediately. */
export function watchSignals(): Pick<
  Host,
  'signal' | 'takeInterrupts' | 'allowGrace' | 'raise' | 'onContinue'
> {
  const controller = new AbortController()
  let grace = usualGrace
  let interruptTaker: (() => void) | undefined
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
  return {
    signal: controller.signal,
    takeInterrupts: (onInterrupt) => {
      const before = interruptTaker
      interruptTaker = onInterrupt
      return () => {
        interruptTaker = before
      }
    },
    raise: (signal) => void process.kill(signal === 'SIGTSTP' ? 0 : process.pid, signal),
    onContinue: (resume) => {
      process.on('SIGCONT', resume)
      return () => void process.off('SIGCONT', resume)
    },
    allowGrace: (ms) => {
      grace = ms
    },
  }
}
