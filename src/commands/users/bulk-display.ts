import type { ProgressEvent, RunSurroundings } from '../../bulk/send/bulk-run.ts'
import type { Context } from '../../cli/context/context.ts'
import { BulkProgress } from '../../cli/output/progress.ts'
import type { ClientEvent } from '../../client/client-event.ts'

/** @param service as records name it */
export function surroundingsOf(context: Context, service: string): RunSurroundings {
  const { directories, host, signal } = context
  return {
    directories,
    service,
    clock: host.clock,
    signal,
    connect: (other) => connectWorkers(context, other),
  }
}

/**
 * A client for many requests for users, which share a throttle and a progress line.
 *
 * @param total number of users; undefined if it is not known
 */
export async function throttledClient(context: Context, total: number | undefined) {
  const { estimateDuration, Throttle } = await import('../../bulk/send/throttle.ts')
  const progress = new BulkProgress(context.output, {
    noun: 'user',
    total,
    estimate: (requests, perSecond) => estimateDuration({ requests, perSecond, quota: throttle.known }),
  })
  const throttle = new Throttle({
    clock: context.host.clock,
    maxWait: context.options.max_wait.value,
    signal: context.signal,
    onPause: (pause) => progress.pause(pause),
    onResume: () => progress.go(),
  })
  /** @throws Failure `unauthorized` without a credential */
  const connect = () => connectWorkers(context, { maxWait: 0, observe: (event) => throttle.observe(event) })
  return { throttle, progress, connect }
}

/** Shows the progress of many requests. */
export class BulkDisplay {
  /** Rows that are finished. */
  finished = 0
  readonly #context: Context
  readonly #noun: string
  #progress: BulkProgress | undefined
  readonly #sayWhy = (): void =>
    this.#context.output.notice(
      'Waiting for the responses to the requests already sent. Press Ctrl-C again to stop immediately.',
    )

  /** @param noun what is counted, in the singular */
  constructor(context: Context, noun: string) {
    this.#context = context
    this.#noun = noun
  }

  take(event: ProgressEvent): void {
    switch (event.type) {
      case 'begin':
        this.#begin(event)
        break
      case 'progress':
        this.finished = event.counts.done + event.counts.failed
        this.#progress?.update(event.counts)
        break
      case 'pause':
        this.#progress?.pause(event.pause)
        break
      case 'resume':
        this.#progress?.go()
    }
  }

  end(): void {
    this.#progress?.end()
    this.#progress = undefined
    this.#context.signal.removeEventListener('abort', this.#sayWhy)
  }

  #begin({ rows, counts, estimate, isSending }: ProgressEvent & { type: 'begin' }): void {
    const { output, signal } = this.#context
    this.end()
    this.#progress = new BulkProgress(output, { noun: this.#noun, total: rows, estimate })
    this.#progress.update(counts)
    this.#progress.go()
    if (isSending) signal.addEventListener('abort', this.#sayWhy, { once: true })
  }
}

/** A client for many concurrent requests. Retries are shown once, because the workers retry together. */
function connectWorkers(
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
