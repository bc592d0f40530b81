/** The signals that end a command in good order. */
export const endingSignals = ['SIGHUP', 'SIGINT', 'SIGTERM'] as const

/**
 * Runs work that blocks this thread, during which no handler of ours would be called: a signal ends
 * the process as it ends any program that has no handler.
 */
export function leaveSignalsToSystem<T>(work: () => T): T {
  const handlers = endingSignals.flatMap((signal) =>
    process.listeners(signal).map((handler) => ({ signal, handler })),
  )
  for (const { signal, handler } of handlers) process.off(signal, handler)
  try {
    return work()
  } finally {
    for (const { signal, handler } of handlers) process.on(signal, handler)
  }
}
