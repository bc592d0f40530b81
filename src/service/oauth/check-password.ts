import { verifyPassword } from '../domain/access/passwords.ts'
import type { Database, UserRow } from '../store/tables.ts'

/**
 * The user of an address and a password, or undefined; it takes as long for an address that nobody
 * has, and for a user who has no password.
 */
export async function checkPassword(
  db: Database,
  email: string,
  password: string,
): Promise<UserRow | undefined> {
  const user = await db
    .selectFrom('users')
    .selectAll()
    .where('email_key', '=', email.trim().toLowerCase())
    .executeTakeFirst()
  const isRight = await verifyPassword(user?.password_hash ?? null, password)
  return isRight ? user : undefined
}
