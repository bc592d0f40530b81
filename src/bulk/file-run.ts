import { dirname } from 'node:path'
import type { ConfiguredQuota } from '../config/quota.ts'
import { usualWindow } from '../config/quota.ts'
import { durationFlagFor, roundDuration } from '../config/units.ts'
import { Failure } from '../contract/failure.ts'
import { Ledger } from '../ledger/ledger.ts'
import type { Run } from '../run/run.ts'
import { makePrivateDirectory, unusableStateDirectory } from '../system/files/private-directory.ts'
import { demandProcessLock } from '../system/files/process-lock.ts'
import { countOf, groupDigits } from '../view/format/quantities.ts'
import type { Input, InputFormat } from './input/input.ts'
import type { KnownQuota } from './send/known-quota.ts'

/** Which rows are sent, and how. */
export interface FileOptions {
  /** Path of the input; `-` is stdin. */
  file: string
  /** Default: detected from the file extension or the first characters. */
  format: InputFormat | undefined
  skipInvalid: boolean
  restart: boolean
  concurrency: number
  quota: ConfiguredQuota | undefined
  /** Whether to skip the confirmation prompt. */
  yes: boolean
}

/** The work of a run. */
export interface PlannedRows {
  rows: number
  /** Rows that earlier runs have done. */
  done: number
  requests: number
}

/** The work of a run, and how long it will take. */
export type Forecast<P extends PlannedRows = PlannedRows> = P & {
  quota: KnownQuota | undefined
  /** Approximate, in ms. */
  duration: number
}

/** The result of a file, also of what earlier runs have sent. */
export interface FileReport {
  rows: number
  /** Numbers of rows by status, without those that earlier runs have done. */
  counts: { failed: number; unknown: number }
  /** Rows that earlier runs have done. This run has sent no request for them. */
  alreadyDone: number
  /** Skipped rows with faults. */
  invalid: number
  /** Rows without an outcome, which the same command would send. */
  remaining: number
  /** The number of requests of this run. */
  requests: number
  /** Path of the file of rows that failed or have faults, if any. */
  failedRows: string | undefined
  /** Why the results file does not have the results. */
  resultsFailure: Failure | undefined
  /** The error or abort reason that ended the run early. */
  ended: unknown
}

/** How a run is described. */
interface Wording {
  /** The run, for the estimate, and a request. */
  run: string
  request: string
  /** The work, in words. */
  outline: string
}

/** How long a run may take to end after a signal, in ms. */
export const grace = 60_000

/** Shows the work of a run, and asks for confirmation. */
export async function confirmForecast(
  run: Run,
  forecast: Forecast,
  options: FileOptions,
  wording: Wording,
): Promise<void> {
  const name = options.file === '-' ? 'stdin' : options.file
  run.say(`${name}: ${wording.outline}.\n${describeForecast(run, forecast, options, wording.run)}`)
  if (options.yes) return
  const service = run.service === 'local' ? 'the embedded service' : run.service
  await run.confirm(`Send ${countOf(forecast.requests, wording.request)} to ${service}?`)
}

/**
 * Keeps another process from sending the same file.
 * @param doing in words
 * @returns releases the lock; undefined for a dry run, which needs none
 * @throws Failure `conflict` if another process has the lock; `storage`
 */
export function lockInput(
  run: Run,
  { path, name }: Pick<Input, 'path' | 'name'>,
  doing: string,
): (() => void) | undefined {
  if (run.dryRun) return undefined
  const { hash } = process.getBuiltinModule('node:crypto')
  const ledger = Ledger.of(run.directories, run.service)
  const lock = `${ledger.path}.${hash('sha256', path ?? '').slice(0, 12)}.lock`
  const hint = 'Wait until it ends. Then run the same command to send the rows that are left.'
  try {
    makePrivateDirectory(dirname(lock))
    return path === undefined
      ? undefined
      : demandProcessLock(lock, `Another chatctl process is ${doing} ${name}`, { hint })
  } catch (cause) {
    throw cause instanceof Failure ? cause : unusableStateDirectory(dirname(lock), 'the ledger', cause)
  }
}

/** The quota, and the estimated duration. */
function describeForecast(
  { maxWait }: Run,
  { quota, duration, requests }: Forecast,
  options: FileOptions,
  noun: string,
): string {
  const about = `${noun} takes about ${roundDuration(Math.max(1000, duration))}, ${options.concurrency} at a time`
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
  // The run will stop at the limit of --max-wait.
  const stop = `\nThe run stops if it must wait longer than --max-wait ${durationFlagFor(maxWait)}. To resume it later, run ${sameCommand(options)}. To let it wait, use --max-wait ${durationFlagFor(pause)}.`
  return `Quota: ${known.join(', ')}. The ${about}.${pause > maxWait ? stop : ''}`
}

/** @param hintFor what to do with the file of failed rows @throws Failure, or what ended the run */
export function throwWhatIsLeft(
  run: Run,
  { counts, ended, remaining, failedRows, invalid, resultsFailure }: FileReport,
  options: Pick<FileOptions, 'restart'>,
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
    // Without IDs, the same command would end in the same way.
    const isFinal = ended instanceof Failure && ended.code === 'no_id'
    const resume = isFinal ? '' : ` ${aim}, run ${sameCommand(options)}.`
    run.say(`${[left, ...words].join(', ')}.${resume}`)
    // Rows whose outcome is unknown were named with what settles them.
    throw ended instanceof Failure && ended.isOutcomeUnknown
      ? ended.reworded(ended.message, { hint: resume.trim() })
      : ended
  }
  if (words.length === 0) return
  if (failedRows === undefined) throw new Failure('incomplete', words.join(', and '))
  throw new Failure('incomplete', words.join(', and '), { hint: hintFor(failedRows) })
}

/** The command that resumes. With --restart, it would start again. */
function sameCommand({ restart }: Pick<FileOptions, 'restart'>): string {
  return restart ? 'the same command without --restart' : 'the same command'
}
