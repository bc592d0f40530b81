import {
  affectsEveryRow,
  lostResponse,
  notSentAgain,
  rowError,
  type Sending,
  sendChange,
} from '../../bulk/send/send-change.ts'
import type { ApiResponse } from '../../client/response/response.ts'
import type { Users } from '../../client/users.ts'
import { contradictionsIn } from '../../contract/contradictions.ts'
import { type Failure, reasonOf } from '../../contract/failure.ts'
import { visibleJson } from '../../terminal/strip-controls.ts'
import { contradictionOf } from '../../view/failure-details.ts'
import type { ValidRow } from '../rows/check-input.ts'
import { bodyOf, type ImportedUser, type Step } from '../rows/imported-user.ts'
import { noId, type RowState } from '../rows/row-state.ts'
import type { CreatedIds } from './created-ids.ts'

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
  ids: CreatedIds
  /** Notes in the ledger which user has an email. */
  saw(email: string, id: string): Promise<void>
  /** Notes in the ledger what became of the creations of a user whose outcome is unknown. */
  settle(email: string, as: 'skipped' | 'done'): Promise<void>
  /** Called if another run has begun to create the user of a row. */
  onClaimed(failure: Failure): void
  /** The password of a user to create; undefined to create it without one. */
  passwordOf(checked: ValidRow): Promise<string | undefined>
}

/** @throws the error that should end the run; the state of the row has what is known */
export async function sendRow(sending: RowSending, work: RowWork): Promise<void> {
  const { checked, steps, resolution } = work
  const { email = '' } = checked.row
  if (resolution?.as === 'skip') {
    await sending.settle(email, 'skipped')
    note(checked, { step: 'create', outcome: 'unknown', hold: 'skipped' })
  }
  if (resolution?.as === 'created') {
    const { id } = resolution
    await sending.saw(email, id)
    note(checked, { step: 'create', outcome: 'done', id })
  }
  let { id } = work
  for (const step of steps) {
    const isRetry = resolution?.as === 'retry' && step === 'create'
    const sent = { checked, step, id, isRetry, hasNext: step !== steps.at(-1) }
    const isDone = await (step === 'create'
      ? sending.ids.inTurn(() => sendStep(sending, sent))
      : sendStep(sending, sent))
    if (!isDone) return
    id = checked.state?.id
  }
}

interface SentStep {
  checked: ValidRow
  step: Step
  id: string | undefined
  /** Whether an earlier request of the same create has an unknown outcome. */
  isRetry: boolean
  /** Whether another step needs the id of the user. */
  hasNext: boolean
}

type KnownOutcome = Partial<RowState> & Pick<RowState, 'outcome'>

/** @returns whether the next step can be sent */
async function sendStep(sending: RowSending, sent: SentStep): Promise<boolean> {
  const { ids, users, health } = sending
  const { checked, step, id, isRetry, hasNext } = sent
  const { row } = checked
  const record = (known: KnownOutcome) => note(checked, { step, id, ...known })
  if (step === 'create' && hasNext && !isRetry && ids.lack !== undefined) {
    record({ outcome: 'refused', error: ids.lack })
    return false
  }
  const password = step === 'create' ? await sending.passwordOf(checked) : undefined
  const outcome = await sendChange(sending, {
    request: () => {
      record({ outcome: 'unknown', error: lostResponse, isCurrent: true })
      return request(users, { row: { ...row, password }, step, id })
    },
    retract: () => record(unsent(sent)),
    password,
  })
  if ('ended' in outcome) throw outcome.ended
  if ('response' in outcome) {
    record(confirm(sent, outcome.response, ids))
    const { state } = checked
    return state?.outcome === 'done' && !state.lacksId
  }
  const { failure } = outcome
  record(await outcomeOf(failure, sent, sending))
  health.failed(failure)
  return false
}

function note(checked: ValidRow, known: KnownOutcome & Pick<RowState, 'step'>): void {
  const { isCreator = false, isCurrent = false } = checked.state ?? {}
  const before = { id: undefined, error: undefined, lacksId: false, hold: undefined, isCurrent }
  checked.state = { ...before, isCreator: isCreator || known.step === 'create', ...known }
}

/** The request had no effect, but the earlier create of a retried row may have had one. */
function unsent({ isRetry }: SentStep, error?: string): KnownOutcome {
  if (!isRetry) return { outcome: undefined, error }
  return { outcome: 'unknown', error: error ?? notSentAgain }
}

/** The outcome of a step whose request failed. */
async function outcomeOf(
  failure: Failure,
  sent: SentStep,
  { settle, onClaimed }: RowSending,
): Promise<KnownOutcome> {
  const { checked, isRetry, hasNext } = sent
  const error = rowError(failure)
  if (failure.isOutcomeUnknown) return { outcome: 'unknown', error }
  // The failure has nothing to do with the row.
  const isClaimed = failure.code === 'claimed'
  if (isClaimed) onClaimed(failure)
  if (isClaimed || affectsEveryRow(failure)) return unsent(sent, failure.message)
  if (!isRetry || failure.status !== 409) return { outcome: 'refused', error }
  // The user exists, so the earlier create has succeeded.
  await settle(checked.row.email ?? '', 'done')
  return { outcome: 'done', error: hasNext ? noId : error, lacksId: hasNext }
}

/** What a response with a 2xx status says. */
function confirm(
  { checked: { row }, step, id: known, hasNext }: SentStep,
  response: ApiResponse<unknown>,
  ids: CreatedIds,
): KnownOutcome {
  const id = step === 'create' ? ids.read(response, row) : known
  const holder = step === 'create' && id !== undefined ? ids.holderOf(id, row.email) : undefined
  const [other] = contradictionsIn({ email: row.email }, response.body)
  if (holder !== undefined || other) {
    const has =
      holder === undefined
        ? `the email ${visibleJson(other?.found)}, not ${visibleJson(row.email)}`
        : `the ID ${visibleJson(id)}, which the user ${holder} has`
    // Without the ID, because it belongs to another user.
    const none = { id: undefined }
    if (row.id !== undefined)
      return {
        ...none,
        outcome: 'contradicted',
        error: `the request changed another user: the response has ${has}`,
      }
    const error = `the user was created, but the response has ${has}`
    return { ...none, step: 'create', outcome: 'done', lacksId: true, error }
  }
  const failure = contradictionOf({ ...bodyOf[step](row), password: undefined }, response)
  const error =
    failure && (step === 'create' ? `the user was created, but ${reasonOf(failure)}` : reasonOf(failure))
  if (failure) return { outcome: failure.isOutcomeUnknown ? 'unknown' : 'contradicted', id, error }
  if (step === 'create' && response.status === 202) return { outcome: 'unverified', id, error: onlyAccepted }
  if (id !== undefined || !hasNext) return { outcome: 'done', id }
  return { outcome: 'done', lacksId: true, error: 'the user was created, but the response contained no id' }
}

/** Why a create with status 202 has an unknown outcome (RFC 9110 section 15.3.3). */
export const onlyAccepted = 'the service has only accepted the request (202), and may create the user later'

/** Sends one step of a row. */
export function request(
  users: RowSending['users'],
  { row, step, id = '' }: { row: ImportedUser; step: Step; id?: string | undefined },
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
