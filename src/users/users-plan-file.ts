import type { Input } from '../bulk/input/input.ts'
import { Failure } from '../contract/failure.ts'
import { Ledger } from '../ledger/ledger.ts'
import type { PlanNote } from '../ledger/record.ts'
import type { Run } from '../run/run.ts'
import {
  composePlan,
  type PlanHeader,
  type PlanKind,
  readPlan,
  savePlan,
} from '../system/files/saved-plan.ts'
import type { SealKey } from '../system/files/sealed-plan.ts'
import type { PlannedUser, UsersPlan } from './apply/users-plan.ts'
import type { UsersState } from './state/users-state.ts'

/** Where a saved plan comes from. */
export interface UsersPlanHeader extends PlanHeader {
  /** The name of the state file. */
  state: string
  serial: number
}

type SavedDifferences = Pick<UsersPlan, 'users' | 'unmanaged' | 'counts'>

/** A saved plan of users. */
export interface UsersPlanFile extends SavedDifferences {
  header: UsersPlanHeader
}

export const usersPlan: PlanKind = {
  format: 'chatctl-users-plan',
  newPlan: 'Make a new plan with: chatctl users diff FILE --save PLAN',
}

/** @throws Failure as `savePlan` */
export async function saveUsersPlan(
  path: string,
  about: UsersPlanHeader,
  { users, unmanaged, counts }: SavedDifferences,
  key?: SealKey,
): Promise<void> {
  const content = { ...about, users: users.map(plain), unmanaged, counts }
  await savePlan(path, composePlan(usersPlan, content), usersPlan, key)
}

/** A plan has the code and the message of an error. */
function plain({ difference, ...user }: PlannedUser): object {
  const { error, ...rest } = difference
  return { ...user, difference: { ...rest, error: error && { code: error.code, message: error.message } } }
}

/** The inverse of `plain`. */
function restored({ difference, ...user }: PlannedUser): PlannedUser {
  const { error, ...rest } = difference
  if (!error) return { ...user, difference }
  const failure = new Failure('incomplete', error.message, { code: error.code })
  return { ...user, difference: { ...rest, error: failure } }
}

/** @throws Failure as `readPlan` */
export function readUsersPlan(
  { name, text }: Pick<Input, 'name' | 'text'>,
  toolVersion: string,
  key?: SealKey,
): UsersPlanFile {
  type Saved = UsersPlanHeader & SavedDifferences
  const { users, unmanaged, counts, ...header } = readPlan<Saved>({ name, text }, usersPlan, toolVersion, key)
  return { header, users: users.map(restored), unmanaged, counts }
}

/**
 * Refuses to apply a plan a second time, or with another generation of the state file, whose users may differ.
 * @param name of the plan
 * @throws Failure `conflict`
 */
export function assertUnapplied(
  { directories, service }: Pick<Run, 'directories' | 'service'>,
  name: string,
  { id, serial }: UsersPlanHeader,
  state: UsersState,
): void {
  if (Ledger.of(directories, service).notesWith<PlanNote>('plan', id).length > 0) {
    throw new Failure('conflict', `The plan ${name} was already applied`, { hint: usersPlan.newPlan })
  }
  if (state.serial === serial) return
  const words = state.exists
    ? `The state file ${state.name} has changed since the plan ${name} was saved (serial ${serial}, now ${state.serial})`
    : `The plan ${name} was made with the state file ${state.name}, which does not exist`
  throw new Failure('conflict', words, {
    hint: 'Choose the state file of the plan with --state, or make a new plan.',
  })
}
