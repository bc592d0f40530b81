import type { ApiResponse } from '../../client/response.ts'
import type { Settings as SettingsClient } from '../../client/settings.ts'
import { Failure } from '../../contract/failure.ts'
import type { Settings, SettingsPatch } from '../../contract/settings.ts'
import { settingsKeys } from '../../contract/settings-keys.ts'
import type { Clock } from '../../system/clock.ts'
import { type Leaves, leavesOf } from '../leaves.ts'
import { type Change, foundAt, isSame } from '../plan.ts'
import { didNotTake, mayStillTake, notReadBack, type Outcome, type Reading } from './change-failures.ts'

/** What changing settings needs of its surroundings. */
export interface Changing {
  settings: Pick<SettingsClient, 'get' | 'update'>
  signal: AbortSignal
  /** The command that shows what the settings are, for a hint. */
  check: string
  clock: Clock
  /** Told where the settings are as wanted although the request failed. */
  onDoubt(failure: Failure): void | Promise<void>
  /** Told of keys that nobody named and that have changed alongside. */
  onSideEffect(changes: Change[]): void | Promise<void>
  /**
   * Told once a request has taken effect, or may have. It must not throw: what was changed is yet to
   * be verified.
   */
  onTaken?(): void | Promise<void>
}

/**
 * Changes settings without a reading before, and proves by reading back that every key of the patch
 * is as it was wanted.
 *
 * @returns the settings as they were read back, and the response to the PATCH where there was one
 * @throws Failure `conflict` naming each key that did not take; `unknown_outcome` where it may still
 *   take; the PATCH's own failure where it was refused
 */
export async function changeAndVerify(
  patch: SettingsPatch,
  changing: Changing,
): Promise<{ read: Settings; answer?: ApiResponse<unknown> }> {
  const outcome = await changeSettings(patch, changing)
  // A refusal is taken at its word: what was right already proves nothing.
  if (outcome.failure && !outcome.failure.isOutcomeUnknown) throw outcome.failure
  const read = await verifySettings(leavesOf(patch), undefined, outcome, changing)
  return { read, ...(outcome.answer && { answer: outcome.answer }) }
}

/**
 * Sends the PATCH.
 *
 * @returns what came of it, failures that a reading must judge included
 */
export async function changeSettings(
  patch: SettingsPatch,
  { settings, signal, onTaken }: Changing,
): Promise<Outcome> {
  let answer: ApiResponse<unknown>
  try {
    answer = await settings.update(patch)
  } catch (failure) {
    const isOutcomeUnknown = failure instanceof Failure ? failure.isOutcomeUnknown : signal.aborted
    if (isOutcomeUnknown) await onTaken?.()
    // Where it is sure that nothing was done, there is nothing to find by reading.
    if (!(failure instanceof Failure) || !(isOutcomeUnknown || mayHaveDoneSome(failure))) throw failure
    return { what: 'PATCH', failure }
  }
  await onTaken?.()
  return { what: 'PATCH', answer }
}

/** A service may refuse the whole after it has done a part; not where it let nobody in. */
function mayHaveDoneSome({ kind, status }: Failure): boolean {
  return status !== undefined && kind !== 'unauthorized' && kind !== 'rate_limited'
}

/** Milliseconds before each further reading: a service may answer for a while with what was there before. */
const pauses = [300, 1_000]

/** The same where the service may still be at work on a change: five seconds in all. */
const patientPauses = [300, 700, 1_500, 2_500]

/** Whether the change may be made after this: the response was lost, or says so (RFC 9110 section 15.3.3). */
function isOpen({ what, answer, failure }: Outcome): boolean {
  return failure?.isOutcomeUnknown ?? (what === 'PATCH' && answer?.status === 202)
}

/**
 * Reads until all that is managed is as it was wanted, or for as long as that may come.
 *
 * @returns what was read last
 */
export async function verifySettings(
  managed: Leaves,
  before: Settings | undefined,
  outcome: Outcome,
  changing: Changing,
): Promise<Settings> {
  const { failure } = outcome
  const open = isOpen(outcome)
  let read = await readBack(outcome, changing, undefined)
  let reading = compare(managed, before, read)
  for (const ms of open ? patientPauses : pauses) {
    if (reading.untaken.length === 0) break
    if (failure && !open && isAsBefore(managed, before, read)) throw failure
    await changing.clock.sleep(ms, changing.signal)
    read = await readBack(outcome, changing, read)
    reading = compare(managed, before, read)
  }
  if (failure && !open) await changing.onTaken?.()
  const sideEffects = before ? changesAlongside(managed, before, read) : []
  if (sideEffects.length > 0) await changing.onSideEffect(sideEffects)
  if (reading.untaken.length > 0) throw (open ? mayStillTake : didNotTake)(reading, outcome, changing.check)
  if (failure) await changing.onDoubt(failure)
  return read
}

/** @param last what an earlier reading found, which has to do where this one fails */
async function readBack(
  outcome: Outcome,
  { settings, check }: Changing,
  last: Settings | undefined,
): Promise<Settings> {
  try {
    const { body } = await settings.get()
    return body ?? {}
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    if (last) return last
    throw outcome.failure && !isOpen(outcome) ? outcome.failure : notReadBack(error, outcome, check)
  }
}

function compare(managed: Leaves, before: Settings | undefined, now: Settings): Reading {
  const keys = [...managed].map(([path, wanted]) => ({ path, wanted, found: foundAt(now, path) }))
  const untaken = keys.filter(({ path, wanted, found }) => !isSame(path, found, wanted))
  const changed = keys.filter(
    ({ path }) => !before || !isSame(path, foundAt(before, path), foundAt(now, path)),
  )
  const taken = changed.filter((key) => !untaken.includes(key)).map(({ path }) => path)
  return { before, taken, untaken }
}

function isAsBefore(managed: Leaves, before: Settings | undefined, now: Settings): boolean {
  if (!before) return false
  return [...managed.keys()].every((path) => isSame(path, foundAt(now, path), foundAt(before, path)))
}

/** Of the documented keys alone: others, such as a time of the last change, change by nature. */
function changesAlongside(managed: Leaves, before: Settings, now: Settings): Change[] {
  return settingsKeys.flatMap(({ path }) => {
    const [from, to] = [foundAt(before, path), foundAt(now, path)]
    return managed.has(path) || isSame(path, from, to) ? [] : [{ path, from, to }]
  })
}
