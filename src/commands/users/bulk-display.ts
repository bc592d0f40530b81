import type {
  FileEvent,
  FileOptions,
  FileReport,
  FileSurroundings,
  Forecast,
  PlannedRows,
  ProgressEvent,
  RunSurroundings,
} from '../../bulk/send/bulk-run.ts'
import type { Context } from '../../cli/context/context.ts'
import { showPlanned } from '../../cli/context/first-requests.ts'
import { BulkProgress } from '../../cli/output/progress.ts'
import type { ClientEvent } from '../../client/client-event.ts'
import { usualWindow } from '../../config/quota.ts'
import { durationFlagFor, roundDuration } from '../../config/units.ts'
import { Failure } from '../../contract/failure.ts'
import { countOf, groupDigits } from '../../view/format/quantities.ts'
import type { View } from '../../view/format/view.ts'

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

/** Address of the service, as journals name it. */
export function serviceOf(context: Context): string {
  return context.contextOwner().baseUrl ?? `local ${context.directories.data}`
}

/** Reading `stdin` opens it. */
export function surroundingsOfFile(context: Context): FileSurroundings {
  const { host, resolvePath } = context
  return {
    ...surroundingsOf(context, serviceOf(context)),
    resolvePath,
    untilEnded: () => host.untilEnded(),
    get stdin() {
      return host.stdin
    },
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

  /** @returns whether it is a progress event */
  take(event: ProgressEvent): boolean {
    if (event.type === 'begin') this.#begin(event)
    else if (event.type === 'progress') {
      this.finished = event.counts.done + event.counts.failed
      this.#progress?.update(event.counts)
    } else if (event.type === 'pause') this.#progress?.pause(event.pause)
    else if (event.type === 'resume') this.#progress?.go()
    else return false
    return true
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
function connectWorkers(context: Context, options: NonNullable<Parameters<Context['connect']>[0]>) {
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

type RunOptions = Pick<FileOptions, 'file' | 'concurrency' | 'restart'> & {
  /** Whether to skip the confirmation prompt. */
  yes: boolean
}

/** How a run is described. */
interface RunDescription<P> {
  /** The run, for the estimate, and a request. */
  nouns: { run: string; request: string }
  /** The requests, in words. */
  outline(planned: P): string
  /** The numbers that a dry run shows, and their view. */
  counts(planned: P): { requests: number }
  view: View
}

/** How long a run may take to end after a signal, in ms. */
const grace = 60_000

/**
 * Sends a file of rows, with a confirmation prompt, progress, and warnings.
 *
 * @param take called with events of other types
 * @returns the result; undefined after a dry run
 */
export async function followRun<P extends PlannedRows, R extends FileReport, E extends { type: string }>(
  context: Context,
  events: AsyncIterable<FileEvent<P, R> | E>,
  options: RunOptions & RunDescription<P>,
  take: (event: E) => void | Promise<void> = () => {},
): Promise<R | undefined> {
  const { host, output } = context
  host.allowGrace(grace)
  const display = new BulkDisplay(context, 'row')
  let report: R | undefined
  try {
    for await (const event of events as AsyncIterable<FileEvent<P, R>>) {
      if (event.type === 'warning') await output.warn(event.text)
      else if (event.type === 'planned')
        await showPlanned(context, options.view, options.counts(event.planned), event.first)
      else if (event.type === 'forecast') await confirmForecast(context, event.forecast, options)
      else if (event.type === 'end') report = event.report
      else if (!display.take(event)) await take(event as ProgressEvent & E)
    }
  } finally {
    display.end()
  }
  return report
}

async function confirmForecast<P extends PlannedRows>(
  context: Context,
  forecast: Forecast<P>,
  options: RunOptions & RunDescription<P>,
): Promise<void> {
  const { output, prompter } = context
  const { file, yes, outline, nouns } = options
  const service = context.contextOwner().baseUrl ?? 'the embedded service'
  const name = file === '-' ? 'stdin' : file
  output.notice(`${name}: ${outline(forecast)}.\n${describeForecast(context, forecast, options, nouns.run)}`)
  if (yes) return
  await prompter.confirm(`Send ${countOf(forecast.requests, nouns.request)} to ${service}?`)
}

/** The quota, and the estimated duration. */
function describeForecast(
  { options }: Context,
  { quota, duration, requests }: Forecast,
  run: RunOptions,
  noun: string,
): string {
  const about = `${noun} takes about ${roundDuration(Math.max(1000, duration))}, ${run.concurrency} at a time`
  if (quota?.limit === undefined && quota?.remaining === undefined) {
    return `Quota: unknown (to set one, use --quota 100/h). Without a quota, the ${about}.`
  }
  const { limit, remaining = limit ?? 0, window, reset } = quota
  const known = [
    ...(limit === undefined
      ? []
      : [`${countOf(limit, 'request')}${window ? ` per ${roundDuration(window)}` : ''}`]),
    ...(quota.remaining === undefined ? [] : [`${groupDigits(remaining)} left`]),
    ...(window || reset === undefined ? [] : [`more in ${roundDuration(reset)}`]),
  ]
  const isLonger = limit === undefined || requests - remaining > limit
  const pause = requests <= remaining ? 0 : Math.max(reset ?? 0, isLonger ? (window ?? usualWindow) : 0)
  const maxWait = options.max_wait.value
  // The run will stop at the limit of --max-wait.
  const stop = `\nThe run stops if it must wait longer than --max-wait ${durationFlagFor(maxWait)}. To resume it later, run ${sameCommand(run)}. To let it wait, use --max-wait ${durationFlagFor(pause)}.`
  return `Quota: ${known.join(', ')}. The ${about}.${pause > maxWait ? stop : ''}`
}

/**
 * @param hintFor what to do with the file of failed rows
 * @throws Failure, or what ended the run
 */
export function throwWhatIsLeft(
  { output }: Context,
  { counts, ended, remaining, failedRows, invalid, resultsFailure }: FileReport,
  options: Pick<RunOptions, 'restart'>,
  hintFor: (failedRows: string) => string,
): void {
  const words = [
    ...(counts.failed > 0 ? [`${countOf(counts.failed, 'row')} failed`] : []),
    ...(counts.unknown > 0 ? [`the outcome of ${countOf(counts.unknown, 'row')} is unknown`] : []),
    ...(invalid > 0 ? [`${countOf(invalid, 'invalid row')} ${invalid === 1 ? 'was' : 'were'} skipped`] : []),
  ]
  if (ended !== undefined) {
    const left = `${countOf(remaining, 'row')} ${remaining === 1 ? 'is' : 'are'} left`
    const isStale = ended === resultsFailure
    const aim = isStale ? 'The results file is not up to date. To write the results' : 'To resume'
    const resume = `${aim}, run ${sameCommand(options)}.`
    output.notice(`${[left, ...words].join(', ')}. ${resume}`)
    // Rows whose outcome is unknown were named with what settles them.
    throw ended instanceof Failure && ended.isOutcomeUnknown
      ? ended.reworded(ended.message, { hint: resume })
      : ended
  }
  if (words.length === 0) return
  if (failedRows === undefined) throw new Failure('incomplete', words.join(', and '))
  throw new Failure('incomplete', words.join(', and '), { hint: hintFor(failedRows) })
}

/** The command that resumes. With --restart, it would start again. */
function sameCommand({ restart }: Pick<RunOptions, 'restart'>): string {
  return restart ? 'the same command without --restart' : 'the same command'
}
