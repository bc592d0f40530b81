import type { Users } from '../client/users.ts'
import { Failure } from '../contract/failure.ts'
import type { User } from '../contract/user.ts'

/** The fields of a user in a response (docs/interface.md, "User"). */
const documented = ['id', 'email', 'name', 'created_at', 'metadata', 'settings'] as const

/**
 * Reads a user.
 *
 * @throws Failure as the client; `invalid_response` for a body without any documented field, which would
 *   otherwise look like a user whose values are all missing
 */
export async function readUser(users: Pick<Users, 'get'>, id: string): Promise<User> {
  const { body, status } = await users.get(id)
  if (documented.some((field) => (body?.[field] ?? undefined) !== undefined)) return body as User
  throw new Failure('invalid_response', `The response for user ${id} contains no field of a user`, { status })
}
