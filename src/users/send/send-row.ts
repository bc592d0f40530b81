import type { Journal, Step } from '../../bulk/journal/journal.ts'
import type { Sending } from '../../bulk/send/send-change.ts'
import { type Outcome, sendStep } from '../../bulk/send/send-step.ts'
import type { ApiResponse } from '../../client/response/response.ts'
import type { Users } from '../../client/users.ts'
import { contradictionsIn } from '../../contract/contradictions.ts'
import { reasonOf } from '../../contract/failure.ts'
import { visibleJson } from '../../terminal/strip-controls.ts'
import { contradictionOf } from '../../view/failure-details.ts'
import type { ValidRow } from '../rows/check-input.ts'
import { emailOfKey, type ImportedUser } from '../rows/imported-user.ts'
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
  journal: Journal
  ids: CreatedIds
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
    const sent = { row: checked.row, step, id, hasNext: step !== steps.at(-1) }
    const isRetry = resolution?.as === 'retry' && step === 'create'
    const send = async () => {
      const error = step === 'create' && sent.hasNext && !isRetry ? sending.ids.lack : undefined
      if (error !== undefined) return sending.journal.record({ ...create, did: 'refused', error })
      return sendStep(sending, {
        ...{ key, step, id, isRetry, password: checked.row.password },
        request: () => request(sending.users, sent),
        confirm: (response) => confirm(sent, response, sending),
        refuse: (failure, error) => {
          // After a 409, the user exists, so the earlier create has succeeded.
          if (!isRetry || failure.status !== 409) return { did: 'refused', error }
          return sent.hasNext
            ? { did: 'nameless', error: 'the user was created, but its id is unknown' }
            : { did: 'took', error }
        },
      })
    }
    const done = await (step === 'create' ? sending.ids.inTurn(send) : send())
    if (done?.did !== 'took') return
    id = done.id
  }
}

interface SentStep {
  row: ImportedUser
  step: Step
  id: string | undefined
  /** Whether another step needs the id of the user. */
  hasNext: boolean
}

/** What a response with a 2xx status says. */
function confirm(
  sent: SentStep,
  response: ApiResponse<unknown>,
  { journal, ids }: Pick<RowSending, 'journal' | 'ids'>,
): Outcome {
  const { row, step, hasNext } = sent
  const id = step === 'create' ? ids.read(response, row) : sent.id
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
  if (step === 'create' && response.status === 202) return { did: 'unknown', id, error: onlyAccepted }
  if (id !== undefined || !hasNext) return { did: 'took', id }
  return { did: 'nameless', error: 'the user was created, but the response contained no id' }
}

/** Why a create with status 202 has an unknown outcome (RFC 9110 section 15.3.3). */
export const onlyAccepted = 'the service has only accepted the request (202), and may create the user later'

/** Sends one step of a row. */
export function request(
  users: RowSending['users'],
  { row, step, id = '' }: Pick<SentStep, 'row' | 'step'> & { id?: string | undefined },
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
