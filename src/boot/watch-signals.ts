import { Interruption } from '../cli/context/interruption.ts'
import type { Host } from '../cli/host.ts'
import { endingSignals } from '../system/leave-signals-to-system.ts'
import { endProcess, mustCleanUp } from './end-process.ts'

/** Two signals within this many ms count as one: timeout(1) signals both the process and its group. */
const echo = 50

/** Grace period in ms: the process ends after it even if some work ignores the signal. */
const usualGrace = 5_000

/**
 * The first signal aborts the run gracefully. A second one ends the process immediately, by the default action of the
 * system if nothing must be cleaned up. Node.js calls no handler while JavaScript is busy.
 */
export function watchSignals(
  platform: NodeJS.Platform,
): Pick<Host, 'signal' | 'takeSignal' | 'allowGrace' | 'raise' | 'onContinue'> {
  const controller = new AbortController()
  let grace = usualGrace
  const takers = new Map<Interruption['signal'], () => void>()
  let first = 0
  const take = (signal: Interruption['signal']): void => {
    const taker = takers.get(signal)
    if (taker) {
      taker()
      return
    }
    const reason = new Interruption(signal)
    if (controller.signal.aborted) {
      if (performance.now() - first < echo) return
      if (leaveToSystem() && platform !== 'win32') process.kill(process.pid, signal)
      endProcess(reason.exitCode)
    }
    first = performance.now()
    controller.abort(reason)
    setTimeout(leaveToSystem, echo).unref()
    setTimeout(() => endProcess(reason.exitCode), grace).unref()
  }
  /** @returns whether the next signal has its default action, which the first process of a container lacks */
  const leaveToSystem = (): boolean => {
    if (process.pid === 1 || mustCleanUp()) return false
    for (const [name, handler] of handlers) process.off(name, handler)
    return true
  }
  const handlers = endingSignals.map((name) => [name, () => take(name)] as const)
  for (const [name, handler] of handlers) process.on(name, handler)
  // Ctrl-Break.
  if (platform === 'win32') process.on('SIGBREAK', () => take('SIGINT'))
  return {
    signal: controller.signal,
    takeSignal: (signal, taker) => {
      const before = takers.get(signal)
      takers.set(signal, taker)
      return () => void (before ? takers.set(signal, before) : takers.delete(signal))
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
