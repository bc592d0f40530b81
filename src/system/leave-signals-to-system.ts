/** The signals that end a command gracefully. */
export const endingSignals = ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM'] as const

/**
 * Runs work that blocks this thread. Node cannot call signal handlers during that time, so they are removed,
 * and a signal ends the process with the default action of the system.
 */
export function leaveSignalsToSystem<T>(work: () => T): T {
  const handlers = ([...endingSignals, 'SIGBREAK'] as const).flatMap((signal) =>
    process.listeners(signal).map((handler) => ({ signal, handler })),
  )
  for (const { signal, handler } of handlers) process.off(signal, handler)
  try {
    return work()
  } finally {
    for (const { signal, handler } of handlers) process.on(signal, handler)
  }
}
