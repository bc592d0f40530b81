import type { ClientEvent } from '../../client/deliver.ts'
import type { Context } from './context.ts'

/** A client for many concurrent requests. Retries are shown once, because the workers retry together. */
export function connectWorkers(
  context: Context,
  options: NonNullable<Parameters<Context['connect']>[0]>,
): ReturnType<Context['connect']> {
  const isNews = onlyFirstRetry()
  return context.connect({
    ...options,
    observe: (event) => {
      options.observe?.(event)
      if (isNews(event)) context.transport.observe?.(event)
    },
  })
}

/** Selects the events to show: when one worker retries, the others usually retry for the same reason. */
function onlyFirstRetry(): (event: ClientEvent) => boolean {
  let isKnown = false
  return (event) => {
    if (event.type === 'response' && event.status < 500) isKnown = false
    if (event.type !== 'retry') return true
    const isNew = !isKnown
    isKnown = true
    return isNew
  }
}
