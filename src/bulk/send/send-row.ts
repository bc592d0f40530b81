import { type ApiResponse, idOfCreated } from '../../client/response.ts'
import type { Users } from '../../client/users.ts'
import { Failure } from '../../contract/failure.ts'
import type { Journal } from '../journal/journal.ts'
import type { Outcome } from '../journal/journal-line.ts'
import { isUnsettled, type RowState, remainingSteps } from '../journal/row-states.ts'
import { rowKey, type Step, type UserRow } from '../rows/user-row.ts'
import { isOfAllRows, type ServiceHealth } from './service-health.ts'
import type { Throttle } from './throttle.ts'

/** What a person says of a create whose outcome is unknown. */
export type Settlement = { as: 'retry' } | { as: 'skip' } | { as: 'created'; id: string }

export interface RowSending {
  users: Pick<Users, 'create' | 'update' | 'assignPermissions'>
  journal: Journal
  throttle: Throttle
  health: ServiceHealth
}

/**
 * Sends what is left to do of one row, step by step. The journal has every intent before its request
 * leaves, and every outcome after.
 *
 * @param settlement of the row where its user may or may not have been created: without one, nothing
 *   is sent
 * @throws whatever means that the run should end; the row is then in the journal as it stands
 */
export async function sendRow(
  sending: RowSending,
  index: number,
  row: UserRow,
  settlement: Settlement | undefined,
): Promise<void> {
  const { journal } = sending
  const state = journal.rows.of(index)
  if (isUnsettled(state)) {
    if (!maySettle(settlement, state)) return
    if (settlement.as === 'skip') return journal.record({ row: index, step: 'create', did: 'skipped' })
    if (settlement.as === 'created') {
      journal.record({ row: index, step: 'create', did: 'took', id: settlement.id })
    }
  }
  const isRetry = settlement?.as === 'retry' && isUnsettled(state)
  const steps = remainingSteps(row, journal.rows.of(index))
  let id = row.id ?? journal.lastLine(index)?.id
  for (const step of steps) {
    const hasNext = step !== steps.at(-1)
    const done = await sendStep(sending, { index, row, step, id, hasNext, isRetry })
    if (!done) return
    id = done.id
  }
}

/** Whether that says what becomes of a row: a user that was made, and lacks its id, is not made again. */
export function maySettle(
  settlement: Settlement | undefined,
  state: RowState | undefined,
): settlement is Settlement {
  return settlement !== undefined && !(settlement.as === 'retry' && state?.phase === 'nameless')
}

const inDoubtStill = 'not sent again yet; the outcome of the earlier request is unknown'

interface Sent {
  index: number
  row: UserRow
  step: Step
  id: string | undefined
  /** Whether another step needs the id of the user. */
  hasNext: boolean
  /** Whether this create may have been done before. */
  isRetry: boolean
}

/** @returns undefined where the row goes no further */
async function sendStep(sending: RowSending, sent: Sent): Promise<{ id: string | undefined } | undefined> {
  const { journal, throttle, health } = sending
  const { index, step, hasNext } = sent
  const record = (did: Outcome, id: string | undefined, error?: string): void =>
    journal.record({
      row: index,
      step,
      did,
      ...(id !== undefined && { id }),
      ...(error !== undefined && { error: withoutPassword(error, sent.row.password) }),
    })
  /** A request that was not done leaves the row as it was; of a retry, that is in doubt. */
  const recordUnsent = (error: string | undefined): void =>
    isRetried(sent) ? record('unknown', sent.id, error ?? inDoubtStill) : record('unsent', sent.id, error)
  let isUnderWay = false
  let answer: ApiResponse<unknown>
  try {
    answer = await throttle.through(
      async () => {
        isUnderWay = false
        await journal.intend(index, step, sent.id, rowKey(sent.row))
        isUnderWay = true
        return request(sending.users, sent)
      },
      () => {
        isUnderWay = false
        recordUnsent(undefined)
      },
    )
  } catch (error) {
    // The journal could not be written, or the throttle ended a wait: of that, what it has must do.
    if (!isUnderWay) throw error
    if (!(error instanceof Failure)) {
      record('unknown', sent.id, 'the run ended before a response arrived')
      throw error
    }
    const did = outcomeOf(error, sent)
    if (did === 'unsent') recordUnsent(error.message)
    else
      record(
        did,
        sent.id,
        did === 'nameless' ? 'the user was created, but its id is unknown' : describe(error),
      )
    health.failed(error)
    return undefined
  }
  health.took()
  const id = step === 'create' ? idOfCreated(answer) : sent.id
  if (id !== undefined || !hasNext) {
    record('took', id)
    return { id }
  }
  record('nameless', undefined, 'the user was created, but the response contained no id')
  return undefined
}

/** What a failure means for the step that met it. */
function outcomeOf(failure: Failure, sent: Sent): Outcome {
  if (failure.inDoubt) return 'unknown'
  // Nothing was done, and it was nothing about the row.
  if (isOfAllRows(failure)) return 'unsent'
  // It is there, so the create of which nobody knew was done.
  if (isRetried(sent) && failure.status === 409) return sent.hasNext ? 'nameless' : 'took'
  return 'refused'
}

/** Whether this may be the second create of a user. */
function isRetried({ step, isRetry }: Sent): boolean {
  return isRetry && step === 'create'
}

function request(users: RowSending['users'], { row, step, id = '' }: Sent): Promise<ApiResponse<unknown>> {
  const { email, password, name, metadata, settings, role, permissions } = row
  switch (step) {
    case 'create':
      return users.create(given({ email, password, name, metadata }))
    case 'update':
      return users.update(id, given(row.id === undefined ? { settings } : { name, metadata, settings }))
    case 'assign':
      return users.assignPermissions(id, given({ permissions, role }))
  }
}

/** Only what was given is sent. */
function given<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as ReturnType<
    typeof given<T>
  >
}

/** A service's words alone do not tell a refusal from a breakdown. */
function describe({ status, message }: Failure): string {
  return status === undefined ? message : `${status}: ${message}`
}

/** A service may quote what it refuses, and nothing that we keep may hold a password. */
function withoutPassword(error: string, password: string | undefined): string {
  const isQuoted = password !== undefined && password !== '' && error.includes(password)
  return isQuoted ? 'the response is not shown because it contains the password' : error
}
