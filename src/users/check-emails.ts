import { FaultList } from '../bulk/input/input-row.ts'
import type { Throttle } from '../bulk/send/throttle.ts'
import type { Client } from '../client/client.ts'
import { Failure } from '../contract/failure.ts'
import { type User, userIn } from '../contract/resources/user.ts'
import type { Run } from '../run/run.ts'
import { visibleJson } from '../terminal/strip-controls.ts'
import { countOf } from '../view/format/quantities.ts'
import { otherUser } from './compare-user.ts'
import type { KnownUsers } from './known-users.ts'
import type { ResolvedRows } from './planned-work.ts'
import type { CheckedInput, ValidRow } from './rows/check-input.ts'
import { remainingSteps } from './rows/row-state.ts'
import { getUsers } from './send/get-users.ts'

/** A row whose ID belongs to another user than its email, if the two were not checked. */
interface Pair {
  id: string
  email: string
  checked: ValidRow
}

/** Why rows are not sent. */
export type RowFailures = ReadonlyMap<ValidRow, Failure>

/**
 * An ID beside an email is an assertion: a shifted column would change wrong users.
 * @returns the rows that contradict the ledger or the state file, and those whose users must be read
 */
export function findPairs({ valid }: CheckedInput, { rows, resolution }: ResolvedRows, known: KnownUsers) {
  const wrong = new Map<ValidRow, Failure>()
  const unread: Pair[] = []
  for (const checked of valid) {
    const { row, state } = checked
    const { email } = row
    const isResolved = resolution?.as === 'created' && rows.has(checked)
    const id = isResolved ? resolution.id : row.id
    const isSent = isResolved || remainingSteps(row, state).length > 0
    if (id === undefined || email === undefined || !isSent) continue
    const { fault, isUnchecked } = known.find(email, id) ?? {}
    // The ledger may be older than the service, but the state file is what users have agreed on.
    const isInState = known.inState(email)?.id !== undefined
    if (fault && isInState) wrong.set(checked, fault)
    else if (fault || isUnchecked) unread.push({ id, email, checked })
  }
  return { wrong, unread }
}

/**
 * Reads the users of rows, and notes their emails for the ledger. A user who does not exist fails when the row is sent.
 * @returns the rows whose user has another email, or cannot be read, and the error or abort reason that ended it early
 */
export async function readPairs(
  run: Run,
  pairs: readonly Pair[],
  reading: { client: Client; throttle: Throttle; concurrency: number },
): Promise<{ wrong: RowFailures; ended: unknown }> {
  const wrong = new Map<ValidRow, Failure>()
  let hidden = 0
  let ended: unknown
  try {
    for await (const result of getUsers(pairs, reading)) {
      const { id, email, checked } = result.requested
      const failure = 'failure' in result ? result.failure : undefined
      const user: User = 'response' in result ? Object(userIn(result.response.body)) : {}
      const isNew = checked.row.id === undefined
      const other = otherUser(email, id, user)
      if (other || (failure && (failure.status !== 404 || isNew) && failure.status !== 403)) {
        const words = `Cannot check that the user ${visibleJson(id)} has the email ${email}: ${failure?.message}`
        wrong.set(checked, other ?? new Failure('refused', words))
      } else if (typeof user.email === 'string') await run.saw(email, id)
      else if (failure?.status !== 404) hidden++
    }
  } catch (error) {
    ended = error
  }
  if (hidden > 0)
    await run.warn(
      `The service does not show the email of ${countOf(hidden, 'user')} with an id, so it was not checked`,
    )
  return { wrong, ended }
}

/**
 * Takes rows out of the valid ones.
 * @param name of the input
 * @param skipInvalid whether they are skipped, with a warning
 * @throws Failure `refused` that names them, if they are not
 */
export async function withoutRows(
  run: Run,
  checked: CheckedInput,
  failures: RowFailures,
  { name, skipInvalid }: { name: string; skipInvalid: boolean },
): Promise<CheckedInput> {
  const faults = new FaultList()
  for (const [{ line, column = 1 }, { message, hint }] of failures)
    faults.add(name, { line, column, message, hint })
  const skipping = faults.settle(skipInvalid)
  if (skipping !== undefined) await run.warn(skipping)
  const rows = checked.rows.map((row) => {
    const failure = failures.get(row as ValidRow)
    if (!failure) return row
    const { index, line, column, row: user } = row
    return { index, line, column, row: user, fault: failure.message }
  })
  return { ...checked, rows, valid: checked.valid.filter((row) => !failures.has(row)) }
}
