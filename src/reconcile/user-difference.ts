import type { Failure } from '../contract/failure.ts'

/**
 * What applying the files would do with a user. `adopt`: add the id of the record of changes to the state file, and
 * change what differs. `missing`: the service responds with 404 for the known id. `unknown`: the outcome of an
 * earlier create is unknown, or its id is. `failed`: the user could not be read. `unread`: the user was not read,
 * and nothing differs from what was last sent.
 */
type UserAction = 'create' | 'change' | 'adopt' | 'none' | 'missing' | 'unknown' | 'failed' | 'unread'

/** A managed field that differs. */
export interface FieldDifference {
  path: string
  /** Undefined if the service has no value, or if the value is not known (see `basis`). */
  from: unknown
  to: unknown
  /**
   * `service`: the value was read now. `last_sent`: the wanted value is compared with the hash of the value that
   * was last sent. `unknown`: the current value is not known.
   */
  basis: 'service' | 'last_sent' | 'unknown'
  /** The service's value is neither the wanted one nor the one that was last sent: someone else changed it. */
  drifted: boolean
}

export interface UserDifference {
  email: string
  id: string | undefined
  action: UserAction
  /** For a user to create: all fields. Empty unless the action is `create`, `change`, `adopt`, or `missing`. */
  fields: readonly FieldDifference[]
  /** The place of the user in the files. */
  file?: string
  line?: number
  /** Only if the action is `failed`. */
  error?: Failure
}
