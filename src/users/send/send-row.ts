import { type ApiResponse, idOfCreated } from '../../client/response/response.ts'
import type { Users } from '../../client/users.ts'
import { contradictionsIn } from '../../contract/contradictions.ts'
import { Failure, reasonOf } from '../../contract/failure.ts'
import { visibleJson } from '../../terminal/strip-controls.ts'
import { contradictionOf } from '../../view/mismatches.ts'
import type { Journal } from '../journal/journal.ts'
import type { StepOutcome } from '../journal/journal-line.ts'
import { isUnresolved, type RowState, remainingSteps } from '../journal/row-states.ts'
import { type ImportedUser, rowKey, type Step } from '../rows/imported-user.ts'
import { affectsEveryRow, type ServiceHealth } from './service-health.ts'
import type { Throttle } from './throttle.ts'

/** How the user resolves a create whose outcome is unknown. */
export type Resolution = { as: 'retry' } | { as: 'skip' } | { as: 'created'; id: string }

export interface RowSending {
  users: Pick<Users, 'create' | 'update' | 'assignPermissions'>
  journal: Journal
  throttle: Throttle
  health: ServiceHealth
}

/**
 * Sends the remaining steps of a row. The journal records every intent before its request is sent, and every
 * outcome after it.
 *
 * @param resolution for a row whose create has an unknown outcome; without one, nothing is sent for it
 * @throws the error that should end the run; the journal has the state of the row
 */
export async function sendRow(
  sending: RowSending,
  index: number,
  row: ImportedUser,
  resolution: Resolution | undefined,
): Promise<void> {
  const { journal } = sending
  const state = journal.rows.of(index)
  if (isUnresolved(state)) {
    if (!canResolve(resolution, state)) return
    if (resolution.as === 'skip') return journal.record({ row: index, step: 'create', did: 'skipped' })
    if (resolution.as === 'created') {
      journal.record({ row: index, step: 'create', did: 'took', id: resolution.id })
    }
  }
  const isRetry = resolution?.as === 'retry' && isUnresolved(state)
  const steps = remainingSteps(row, journal.rows.of(index))
  let id = row.id ?? journal.lastLine(index)?.id
  for (const step of steps) {
    const hasNext = step !== steps.at(-1)
    const done = await sendStep(sending, { index, row, step, id, hasNext, isRetry })
    if (!done) return
    id = done.id
  }
}

/** Whether a resolution applies: a user that was certainly created must not be created again. */
export function canResolve(
  resolution: Resolution | undefined,
  state: RowState | undefined,
): resolution is Resolution {
  return resolution !== undefined && !(resolution.as === 'retry' && state?.phase === 'nameless')
}

const stillUnknown = 'not sent again yet; the outcome of the earlier request is unknown'

interface StepRequest {
  index: number
  row: ImportedUser
  step: Step
  id: string | undefined
  /** Whether another step needs the id of the user. */
  hasNext: boolean
  /** Whether an earlier create of this user may have succeeded. */
  isRetry: boolean
}

/** @returns undefined if the next steps of the row must not be sent */
async function sendStep(
  sending: RowSending,
  sent: StepRequest,
): Promise<{ id: string | undefined } | undefined> {
  const { journal, throttle, health } = sending
  const { index, step, hasNext } = sent
  const record = (...[did, id, error, about = step]: Recorded): void =>
    journal.record({
      row: index,
      step: about,
      did,
      ...(id !== undefined && { id }),
      ...(error !== undefined && { error: withoutPassword(error, sent.row.password) }),
    })
  /** The request had no effect, but the earlier create of a retried row may have had one. */
  const recordUnsent = (error: string | undefined): void =>
    isRetried(sent) ? record('unknown', sent.id, error ?? stillUnknown) : record('unsent', sent.id, error)
  let isInFlight = false
  let response: ApiResponse<unknown>
  try {
    response = await throttle.through(
      async () => {
        isInFlight = false
        await journal.recordIntent(index, step, sent.id, rowKey(sent.row)).catch((error: unknown) => {
          recordUnsent(undefined)
          throw error
        })
        isInFlight = true
        return request(sending.users, sent)
      },
      () => {
        isInFlight = false
        recordUnsent(undefined)
      },
    )
  } catch (error) {
    // No request was in flight: the journal could not be written, or the throttle ended a wait.
    if (!isInFlight) throw error
    if (!(error instanceof Failure)) {
      record('unknown', sent.id, 'the run ended before a response arrived')
      throw error
    }
    const did = outcomeOf(error, sent)
    const words = did === 'nameless' ? 'the user was created, but its id is unknown' : describe(error)
    if (did === 'unsent') recordUnsent(error.message)
    else record(did, sent.id, words)
    health.failed(error)
    return undefined
  }
  health.succeeded()
  const id = step === 'create' ? idOfCreated(response) : sent.id
  const unconfirmed = contradicted(sent, id, response, journal)
  if (unconfirmed) {
    record(...unconfirmed)
    return undefined
  }
  if (id !== undefined || !hasNext) {
    record('took', id)
    return { id }
  }
  record('nameless', undefined, 'the user was created, but the response contained no id')
  return undefined
}

type Recorded = [did: StepOutcome, id: string | undefined, error?: string, step?: Step]

/** What to record if a response with a 2xx status does not confirm a step. */
function contradicted(
  { row, step }: StepRequest,
  id: string | undefined,
  response: ApiResponse<unknown>,
  journal: Journal,
): Recorded | undefined {
  const holder = step === 'create' && id !== undefined ? journal.rowOfCreated(id) : undefined
  const [other] = contradictionsIn({ email: row.email }, response.body)
  if (holder !== undefined || other) {
    const has =
      holder === undefined
        ? `the email ${visibleJson(other?.found)}, not ${visibleJson(row.email)}`
        : `the ID ${visibleJson(id)}, which the user of row ${holder + 1} has`
    // Without the ID, because it belongs to another user.
    return row.id === undefined
      ? ['nameless', undefined, `the user was created, but the response has ${has}`, 'create']
      : ['differs', undefined, `the request changed another user: the response has ${has}`]
  }
  const failure = contradictionOf({ ...bodyOf[step](row), password: undefined }, response)
  if (!failure) return undefined
  if (step === 'create') return ['differs', id, `the user was created, but ${reasonOf(failure)}`]
  return [failure.isOutcomeUnknown ? 'unknown' : 'differs', id, reasonOf(failure)]
}

/** The outcome of a step whose request failed. */
function outcomeOf(failure: Failure, sent: StepRequest): StepOutcome {
  if (failure.isOutcomeUnknown) return 'unknown'
  // The failure has nothing to do with the row.
  if (affectsEveryRow(failure)) return 'unsent'
  // The user exists, so the earlier create has succeeded.
  if (isRetried(sent) && failure.status === 409) return sent.hasNext ? 'nameless' : 'took'
  return 'refused'
}

/** Whether this may be the second create of a user. */
function isRetried({ step, isRetry }: StepRequest): boolean {
  return isRetry && step === 'create'
}

function request(
  users: RowSending['users'],
  { row, step, id = '' }: StepRequest,
): Promise<ApiResponse<unknown>> {
  switch (step) {
    case 'create':
      return users.create(bodyOf.create(row))
    case 'update':
      return users.update(id, bodyOf.update(row))
    case 'assign':
      return users.assignPermissions(id, bodyOf.assign(row))
  }
}

/** The request body of each step. */
export const bodyOf = {
  create: ({ email, password, name, metadata }: ImportedUser) =>
    definedOnly({ email, password, name, metadata }),
  update: ({ id, name, metadata, settings }: ImportedUser) =>
    definedOnly(id === undefined ? { settings } : { name, metadata, settings }),
  assign: ({ permissions, role }: ImportedUser) => definedOnly({ permissions, role }),
} satisfies Record<Step, (row: ImportedUser) => object>

/** Omits undefined fields. */
export function definedOnly<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as ReturnType<
    typeof definedOnly<T>
  >
}

/** With the status, because the message alone may not show whether the row or the service is at fault. */
function describe(failure: Failure): string {
  const { status, isOutcomeUnknown } = failure
  const message = isOutcomeUnknown ? reasonOf(failure) : failure.message
  return status === undefined ? message : `${status}: ${message}`
}

/** A service may quote the request in an error, but the journal and the results must not contain a password. */
function withoutPassword(error: string, password: string | undefined): string {
  const isQuoted = password !== undefined && password !== '' && error.includes(password)
  return isQuoted ? 'the response is not shown because it contains the password' : error
}
