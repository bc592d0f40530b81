import type { Host } from '../cli/host.ts'
import { Interruption } from '../cli/interruption.ts'
import { endingSignals } from '../system/leave-signals-to-system.ts'
import { endProcess } from './end-process.ts'

/** Two signals within this many ms count as one: timeout(1) signals both the process and its group. */
const echo = 50

/** Grace period in ms: the process ends after it even if some work ignores the signal. */
const usualGrace = 5_000

/** The first signal aborts the run gracefully; a second one ends the process immediately. */
export function watchSignals(
  platform: NodeJS.Platform,
): Pick<Host, 'signal' | 'takeInterrupts' | 'allowGrace' | 'raise' | 'onContinue'> {
  const controller = new AbortController()
  let grace = usualGrace
  let interruptTaker: (() => void) | undefined
  let first = 0
  const take = (signal: Interruption['signal']): void => {
    if (signal === 'SIGINT' && interruptTaker) {
      interruptTaker()
      return
    }
    const reason = new Interruption(signal)
    if (controller.signal.aborted) {
      if (performance.now() - first < echo) return
      endProcess(reason.exitCode)
    }
    first = performance.now()
    controller.abort(reason)
    setTimeout(() => endProcess(reason.exitCode), grace).unref()
  }
  for (const signal of endingSignals) process.on(signal, () => take(signal))
  // Ctrl-Break.
  if (platform === 'win32') process.on('SIGBREAK', () => take('SIGINT'))
  return {
    signal: controller.signal,
    takeInterrupts: (onInterrupt) => {
      const before = interruptTaker
      interruptTaker = onInterrupt
      return () => {
        interruptTaker = before
      }
    },
    raise: (signal) => {
      if (platform !== 'win32') process.kill(signal === 'SIGTSTP' ? 0 : process.pid, signal)
      // There, `process.kill` ends the process without a call of its handlers.
      else if (signal === 'SIGINT') take(signal)
    },
    onContinue: (resume) => {
      process.on('SIGCONT', resume)
      return () => void process.off('SIGCONT', resume)
    },
    allowGrace: (ms) => {
      grace = ms
    },
  }
}
