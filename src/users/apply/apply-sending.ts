import type { Sending } from '../../bulk/send/send-change.ts'
import type { Users } from '../../client/users.ts'
import type { Clock } from '../../system/clock.ts'
import type { KnownUsers } from '../known-users.ts'
import type { CreatedIds } from '../send/created-ids.ts'
import type { UsersState } from '../state/users-state.ts'

/** What applying users needs. */
export interface ApplySending extends Sending {
  users: Pick<Users, 'get' | 'create' | 'update' | 'assignPermissions'>
  state: Pick<UsersState, 'find' | 'findById' | 'record' | 'note' | 'remove'>
  /** What was known before this run. */
  known: Pick<KnownUsers, 'find'>
  ids: CreatedIds
  clock: Clock
  signal: AbortSignal
  /** The password of a user to create; undefined to create it without one. */
  passwordOf(email: string): Promise<string | undefined>
  /** Called before each request that changes something. */
  beforeChange(): Promise<void>
}
