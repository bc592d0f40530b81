import { connectWorkers } from '../../cli/context/connect-workers.ts'
import type { Context } from '../../cli/context/context.ts'
import { BulkProgress } from '../../cli/output/progress.ts'
import type { ProgressEvent, RunSurroundings } from '../../users/send/bulk-run.ts'

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

/** Shows the progress of many requests. */
export class BulkDisplay {
  /** Rows that are finished. */
  finished = 0
  readonly #context: Context
  readonly #noun: string
  #progress: BulkProgress | undefined

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
  }

  #begin({ rows, counts, estimate, isSending }: ProgressEvent & { type: 'begin' }): void {
    const { output, signal } = this.#context
    this.end()
    this.#progress = new BulkProgress(output, { noun: this.#noun, total: rows, estimate })
    this.#progress.goOn(counts)
    if (!isSending) return
    const sayWhy = () =>
      output.notice(
        'Waiting for the responses to the requests already sent. Press Ctrl-C again to stop at once.',
      )
    signal.addEventListener('abort', sayWhy, { once: true })
  }
}
