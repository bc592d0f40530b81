import type { Imported, ImportOptions, Pace, Progress, Prospect } from '../bulk/import-options.ts'
import type { Outline } from '../bulk/outline.ts'
import type { Unsettled } from '../bulk/results/report-rows.ts'
import type { RowResult } from '../bulk/results/row-result.ts'
import { describeSpan, durationFlagFor } from '../config/duration.ts'
import { dataFolder } from '../config/paths.ts'
import { Failure } from '../failure.ts'
import { countOf, groupDigits } from '../view/count.ts'
import { describeOutline, importView, outlineView } from '../view/import.ts'
import type { Context } from './create-context.ts'
import { describeUnknown, type Settle, type UnknownRow } from './describe-unknown.ts'
import { allowGrace } from './interruption.ts'
import { BulkProgress } from './output/bulk-progress.ts'
import { quoteWord } from './quote-word.ts'
import { demandNamedService } from './target.ts'

/** Ms to come to an end in good order: what is under way is waited for, and results are written. */
const grace = 60_000

/** Ms: the window of a quota of which none is known (interface.md, "Limits"). */
const hour = 3_600_000

/** So many rows of which nobody knows are told one by one. */
const mostTold = 1000

/** What a command says of its file of rows; the rest is the same for all. */
export interface FileOptions
  extends Pick<
      ImportOptions,
      'file' | 'form' | 'kind' | 'skipInvalid' | 'restart' | 'concurrency' | 'quota' | 'results'
    >,
    Partial<Pick<ImportOptions, 'makePassword' | 'settlement' | 'place'>> {
  /** Whether no question is asked. */
  yes: boolean
  /** The command line that settles a row, by what is said of it; absent where nothing is created. */
  settle?: Settle
}

/**
 * Imports a file of rows for a command, with all that is said on the way, and shows what became of it.
 *
 * @param importRows of the bulk layer, which the command has loaded
 * @throws Failure `incomplete` where rows failed or are unknown; what ended it early
 */
export async function importFile(
  context: Context,
  importRows: (options: ImportOptions) => Promise<Imported | undefined>,
  options: FileOptions,
): Promise<void> {
  demandNamedService(context.target())
  allowGrace(grace)
  const outside = outsideOf(context, options)
  let imported: Imported | undefined
  try {
    imported = await importRows({
      makePassword: undefined,
      settlement: undefined,
      place: undefined,
      ...options,
      ...outside,
      service: context.contextOwner().baseUrl ?? `local ${dataFolder()}`,
      showOutline: context.dryRun ? (outline) => showOutline(context, outline) : undefined,
      maxWait: context.options.max_wait.value,
      signal: context.signal,
    })
  } finally {
    outside.endProgress()
  }
  if (!imported) return
  await outside.tellUnknown(imported.counts.unknown)
  await showImported(context, imported, options.results)
  const { requests, remaining, counts } = imported
  if (requests + remaining + counts.failed + counts.unknown === 0) {
    context.output.notice('Nothing was left to send.')
  }
  throwWhatIsLeft(context, imported, options)
}

/** What goes on from here: a restart would begin again. */
function sameCommand({ restart }: Pick<FileOptions, 'restart'>): string {
  return restart ? 'the same command without --restart' : 'the same command'
}

async function showImported(
  { output }: Context,
  imported: Imported,
  results: string | undefined,
): Promise<void> {
  const { counts, rows, remaining, requests, failedRows: failed_rows } = imported
  const { created, updated, failed, unknown } = counts
  const files = {
    ...(results !== undefined && { results }),
    ...(failed_rows !== undefined && { failed_rows }),
  }
  const skipped = counts.skipped - remaining
  await output.show(importView, {
    ...{ rows, created, updated, failed, unknown, skipped, remaining, requests },
    ...files,
  })
}

/** @throws Failure, or what ended the run */
function throwWhatIsLeft(
  { output }: Context,
  { counts, ended, remaining, failedRows }: Imported,
  options: FileOptions,
): void {
  if (ended !== undefined) {
    const left = countOf(remaining, 'row')
    output.notice(
      `${left} ${remaining === 1 ? 'is' : 'are'} left; ${sameCommand(options)} goes on with what is not done.`,
    )
    throw ended
  }
  const { failed, unknown } = counts
  if (failed === 0 && unknown === 0) return
  const words = [
    ...(failed > 0 ? [`${countOf(failed, 'row')} failed`] : []),
    ...(unknown > 0 ? [`nobody knows what became of ${countOf(unknown, 'row')}`] : []),
  ]
  throw new Failure('incomplete', words.join(', and '), {
    ...(failedRows !== undefined && {
      hint: `Run ${sameCommand(options)} again, or mend the failed rows and: ${commandFor(options.kind, failedRows)}`,
    }),
  })
}

function commandFor(kind: FileOptions['kind'], path: string): string {
  const file = quoteWord(path)
  return kind === 'users' ? `chatctl users import ${file}` : `chatctl users permissions assign --file ${file}`
}

/** What an import needs of its outside: a client, a person, a place for its progress. */
function outsideOf(context: Context, options: FileOptions) {
  const { file, kind, yes, concurrency, settle } = options
  const { output, prompter, transport } = context
  const name = file === '-' ? 'stdin' : file
  const unknown: UnknownRow[] = []
  let progress: BulkProgress | undefined
  return {
    connect: (other: Parameters<ImportOptions['connect']>[0]) =>
      context.connect({
        ...other,
        observe: (event) => {
          other.observe?.(event)
          transport.observe?.(event)
        },
      }),
    confirm: async (prospect: Prospect) => {
      const service = context.contextOwner().baseUrl ?? 'the embedded service'
      const outline = `${name}: ${describeOutline(prospect)}`
      output.notice(`${outline}.\n${describeTime(context, prospect, concurrency, sameCommand(options))}`)
      // Who is created stays; what is assigned can be assigned otherwise, by a script too.
      if (!yes && (kind === 'users' || prompter.canAsk)) await prompter.confirm(`Send them to ${service}?`)
    },
    onBegin: ({ rows, tally, estimate }: Pace) => {
      progress = new BulkProgress(output, { noun: 'row', total: rows, estimate })
      progress.goOn(tally)
    },
    onProgress: (tally: Progress) => progress?.update(tally),
    onPause: (pause: Parameters<ImportOptions['onPause']>[0]) => progress?.pause(pause),
    onGo: () => progress?.go(),
    endProgress: () => progress?.end(),
    onUnknown: (result: RowResult, settling: Unsettled | undefined) => {
      if (unknown.length < mostTold) unknown.push({ ...result, settling })
    },
    tellUnknown: async (count: number) => {
      if (count > 0) await output.warn(describeUnknown(unknown, count, settle))
    },
    warn: (text: string) => output.warn(text),
  }
}

async function showOutline({ output }: Context, { rows, done, steps, requests }: Outline): Promise<void> {
  const { create: creates, update: updates, assign: assignments } = steps
  await output.withoutFields().show(outlineView, { rows, done, creates, updates, assignments, requests })
}

/** What is known of the quota, and how long it will take with it. */
function describeTime(
  { options }: Context,
  { quota, duration, requests }: Prospect,
  concurrency: number,
  again: string,
): string {
  const about = `about ${describeSpan(Math.max(1000, duration))}, ${concurrency} at a time`
  if (quota?.limit === undefined && quota?.remaining === undefined) {
    return `No quota is known (--quota 100/h names one); without one it takes ${about}.`
  }
  const { limit, remaining = limit ?? 0, window, reset } = quota
  const known = [
    ...(limit === undefined
      ? []
      : [`${countOf(limit, 'request')}${window ? ` in ${describeSpan(window)}` : ''}`]),
    ...(quota.remaining === undefined ? [] : [`${groupDigits(remaining)} left`]),
    ...(window || reset === undefined ? [] : [`more in ${describeSpan(reset)}`]),
  ]
  const isLonger = limit === undefined || requests - remaining > limit
  const pause = requests <= remaining ? 0 : Math.max(reset ?? 0, isLonger ? (window ?? hour) : 0)
  const stop = pause > options.max_wait.value ? describeStop(options.max_wait.value, pause, again) : ''
  return `The quota: ${known.join(', ')}. It takes ${about}.${stop}`
}

/** A run that would have to wait for longer than it may is better not left alone. */
function describeStop(maxWait: number, pause: number, again: string): string {
  return `\nA pause for it may be longer than --max-wait ${durationFlagFor(maxWait)}: then the run stops, and ${again} goes on later. --max-wait ${durationFlagFor(pause)} waits.`
}
