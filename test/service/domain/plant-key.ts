import { generateKey, hashKey } from '../../../src/service/domain/access/keys.ts'
import type { ApiKeyRow, Database, UserRow } from '../../../src/service/store/tables.ts'

let planted = 0

/** Inserts a user, without the time that hashing a password takes. */
export async function plantUser(db: Database, fields: Partial<UserRow> = {}): Promise<UserRow> {
  planted += 1
  const at = '2026-01-01T00:00:00.000Z'
  const email = fields.email ?? `planted-${planted}@example.com`
  const row: UserRow = {
    id: `usr_planted${planted}`,
    email,
    email_key: email.toLowerCase(),
    name: '',
    password_hash: null,
    metadata: '{}',
    role: 'member',
    permissions: '[]',
    created_at: at,
    disabled_at: null,
    updated_at: at,
    ...fields,
  }
  await db.insertInto('users').values(row).execute()
  await db.insertInto('preferences').values({ user_id: row.id, document: '{}' }).execute()
  return row
}

/** Inserts a key. */
export async function plantKey(
  db: Database,
  fields: Partial<ApiKeyRow> = {},
): Promise<{ id: string; key: string }> {
  planted += 1
  const key = generateKey()
  const id = `key_planted${planted}`
  await db
    .insertInto('api_keys')
    .values({
      id,
      name: 'planted',
      hash: hashKey(key),
      prefix: key.slice(0, 9),
      user_id: 'usr_admin',
      tier: 'enterprise',
      hourly_limit: null,
      created_at: '2026-01-01T00:00:00.000Z',
      last_used_at: null,
      revoked_at: null,
      permissions: null,
      expires_at: null,
      trust_id: null,
      ...fields,
    })
    .execute()
  return { id, key }
}
