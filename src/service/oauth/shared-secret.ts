import { randomBytes } from 'node:crypto'
import type { Database } from '../store/tables.ts'

/**
 * A secret that all processes of one database share: 256 random bits, made by whichever comes
 * first.
 */
export async function sharedSecret(db: Database, name: string): Promise<string> {
  await db
    .insertInto('service_secrets')
    .values({ name, value: randomBytes(32).toString('base64url'), created_at: new Date().toISOString() })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  const { value } = await db
    .selectFrom('service_secrets')
    .select('value')
    .where('name', '=', name)
    .executeTakeFirstOrThrow()
  return value
}
