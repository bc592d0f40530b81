import type { Journal, Step, StepOutcome } from '../../bulk/journal/journal.ts'
import { affectsEveryRow, type Sending, sendChange } from '../../bulk/send/send-change.ts'
import { type ApiResponse, idOfCreated } from '../../client/response/response.ts'
import type { Users } from '../../client/users.ts'
import { contradictionsIn } from '../../contract/contradictions.ts'
import { type Failure, reasonOf } from '../../contract/failure.ts'
import { visibleJson } from '../../terminal/strip-controls.ts'
import { contradictionOf } from '../../view/failure-details.ts'
import type { ValidRow } from '../rows/check-input.ts'
import { emailOfKey, type ImportedUser } from '../rows/imported-user.ts'

/** How the user resolves a create whose outcome is unknown. */
export type Resolution = { as: 'retry' } | { as: 'skip' } | { as: 'created'; id: string }

/** A row with requests to send. */
export interface RowWork {
  checked: ValidRow
  /** In order. */
  steps: readonly Step[]
  /** Of the user, if it is known. */
  id: string | undefined
  resolution: Resolution | undefined
}

export interface RowSending extends Sending {
  users: Pick<Users, 'create' | 'update' | 'assignPermissions'>
  journal: Journal
}

/**
 * Sends the remaining steps of a row. The journal records every intent before its request is sent, and every
 * outcome after it.
 *
 * @throws the error that should end the run; the journal has the state of the row
 */
export async function sendRow(sending: RowSending, work: RowWork): Promise<void> {
  const { checked, steps, resolution } = work
  const { key } = checked
  const create = { key, step: 'create' as const }
  if (resolution?.as === 'skip') sending.journal.record({ ...create, did: 'skipped' })
  if (resolution?.as === 'created') sending.journal.record({ ...create, did: 'took', id: resolution.id })
  let { id } = work
  for (const step of steps) {
    const hasNext = step !== steps.at(-1)
    const isRetry = resolution?.as === 'retry' && step === 'create'
    const done = await sendStep(sending, { ...checked, step, id, hasNext, isRetry })
    if (!done) return
    id = done.id
  }
}

const stillUnknown = 'not sent again yet; the outcome of the earlier request is unknown'

interface StepRequest {
  key: string
  row: ImportedUser
  step: Step
  id: string | undefined
  /** Whether another step needs the id of the user. */
  hasNext: boolean
  /** Whether this may be the second create of the user. */
  isRetry: boolean
}

/** @returns undefined if the next steps of the row must not be sent */
async function sendStep(
  sending: RowSending,
  sent: StepRequest,
): Promise<{ id: string | undefined } | undefined> {
  const { journal, health, users } = sending
  const { key, step, id, row } = sent
  const record = (outcome: Outcome): void => journal.record({ key, step, id, ...outcome })
  const outcome = await sendChange(sending, {
    recordIntent: () =>
      journal.recordIntent({ key, step, id }).catch((error: unknown) => {
        record(unsent(sent))
        throw error
      }),
    retract: () => record(unsent(sent)),
    request: () => request(users, sent),
    password: row.password,
  })
  if ('ended' in outcome) {
    record({ did: 'unknown', error: 'the run ended before a response arrived' })
    throw outcome.ended
  }
  if ('failure' in outcome) {
    record(outcomeOf(outcome.failure, sent))
    health.failed(outcome.failure)
    return undefined
  }
  const confirmed = confirm(sent, outcome.response, journal)
  record(confirmed)
  return confirmed.did === 'took' ? { id: confirmed.id } : undefined
}

/** What the journal records about a step. */
interface Outcome {
  did: StepOutcome
  id?: string
  error?: string
  /** Default: the step itself. */
  step?: Step
}

/** The request had no effect, but the earlier create of a retried row may have had one. */
function unsent({ isRetry }: StepRequest, error?: string): Outcome {
  return isRetry ? { did: 'unknown', error: error ?? stillUnknown } : { did: 'unsent', error }
}

/** What a response with a 2xx status says. */
function confirm(sent: StepRequest, response: ApiResponse<unknown>, journal: Journal): Outcome {
  const { row, step, hasNext } = sent
  const id = step === 'create' ? idOfCreated(response) : sent.id
  const holder = step === 'create' && id !== undefined ? journal.rowOfCreated(id) : undefined
  const [other] = contradictionsIn({ email: row.email }, response.body)
  if (holder !== undefined || other) {
    const has =
      holder === undefined
        ? `the email ${visibleJson(other?.found)}, not ${visibleJson(row.email)}`
        : `the ID ${visibleJson(id)}, which the user ${emailOfKey(holder)} has`
    // Without the ID, because it belongs to another user.
    const none = { id: undefined }
    return row.id === undefined
      ? {
          ...none,
          did: 'nameless',
          step: 'create',
          error: `the user was created, but the response has ${has}`,
        }
      : { ...none, did: 'differs', error: `the request changed another user: the response has ${has}` }
  }
  const failure = contradictionOf({ ...bodyOf[step](row), password: undefined }, response)
  if (failure && step === 'create')
    return { did: 'differs', id, error: `the user was created, but ${reasonOf(failure)}` }
  if (failure) return { did: failure.isOutcomeUnknown ? 'unknown' : 'differs', id, error: reasonOf(failure) }
  if (id !== undefined || !hasNext) return { did: 'took', id }
  return { did: 'nameless', error: 'the user was created, but the response contained no id' }
}

/** The outcome of a step whose request failed. */
function outcomeOf(failure: Failure, sent: StepRequest): Outcome {
  const error = describe(failure)
  if (failure.isOutcomeUnknown) return { did: 'unknown', error }
  // The failure has nothing to do with the row.
  if (affectsEveryRow(failure)) return unsent(sent, failure.message)
  if (!sent.isRetry || failure.status !== 409) return { did: 'refused', error }
  // The user exists, so the earlier create has succeeded.
  return sent.hasNext
    ? { did: 'nameless', error: 'the user was created, but its id is unknown' }
    : { did: 'took', error }
}

/** Sends one step of a row. */
export function request(
  users: RowSending['users'],
  { row, step, id = '' }: Pick<StepRequest, 'row' | 'step' | 'id'>,
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
function definedOnly<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
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
