import type { Host } from '../cli/host.ts'
import { Interruption } from '../cli/interruption.ts'
import { endingSignals } from '../system/leave-signals-to-system.ts'
import { endProcess } from './end-process.ts'

/** Two signals within so many ms are one: wrappers such as timeout(1) send theirs to a process and to its group. */
const echo = 50

/** Work that does not see the signal gets this long, in ms, before the process ends anyway. */
const usualGrace = 5_000

/** The first signal ends what runs in good order, a second one at once. */
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
