import { parseJson } from '../../contract/notation/exact-json.ts'
import type { CreateUserRequest, Profile, UpdateUserRequest, User } from '../../contract/resources/user.ts'
import { isoNow } from '../../system/clock.ts'
import { ApiError, invalidRequest } from '../api-error.ts'
import { prepareQuery } from '../store/prepared-query.ts'
import { isUniqueViolation } from '../store/storage-failure.ts'
import type { Database, UserRow } from '../store/tables.ts'
import { hashPassword } from './access/passwords.ts'
import type { Role } from './access/permissions.ts'
import { type AuditAction, type AuditContext, recordChange } from './audit.ts'
import { createId } from './identifiers.ts'
import {
  lockPreferences,
  mergePreferences,
  type PreferencesRecord,
  preferencesFrom,
  preferencesOf,
  readPreferences,
  userSettingsOf,
} from './preferences.ts'

/** Maximum size of the metadata of a user, in bytes of JSON. */
export const maxMetadataBytes = 65_536

/** A validated request, which contains the fields that the service requires. */
type NewUser = CreateUserRequest & { email: string; password: string }

/** @throws ApiError `email_taken`, regardless of case */
export async function createUser(db: Database, given: NewUser, by: AuditContext): Promise<User> {
  const { password, ...rest } = given
  const hashed = { ...rest, password_hash: await hashPassword(password) }
  try {
    return await db.transaction().execute((transaction) => insertUser(transaction, hashed, by))
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
    // In a transaction, which also sees a user whose commit is pending.
    const taken = await db
      .transaction()
      .execute((transaction) =>
        transaction
          .selectFrom('users')
          .select('id')
          .where('email_key', '=', given.email.toLowerCase())
          .executeTakeFirst(),
      )
    throw new ApiError('email_taken', `A user with the email ${given.email} already exists`, {
      details: { email: given.email, ...taken },
    })
  }
}

/**
 * Must run inside a transaction.
 * @param as the role, and the action for the audit log; default: a member
 * @throws a unique violation if the email is taken
 */
export async function insertUser(
  transaction: Database,
  given: Omit<NewUser, 'password'> & Pick<UserRow, 'password_hash'>,
  by: AuditContext,
  as: { role: Role; action: AuditAction } = { role: 'member', action: 'user.create' },
): Promise<User> {
  const now = isoNow(by.clock)
  const row: UserRow = {
    id: createId('usr'),
    email: given.email,
    email_key: given.email.toLowerCase(),
    name: given.name ?? '',
    password_hash: given.password_hash,
    metadata: mergeMetadata('{}', given.metadata),
    role: as.role,
    permissions: '[]',
    created_at: now,
    updated_at: now,
    disabled_at: null,
  }
  await transaction.insertInto('users').values(row).execute()
  await transaction.insertInto('preferences').values({ user_id: row.id, document: '{}' }).execute()
  const { email, name, role } = row
  const after = { email, name, role, ...(given.metadata && { metadata: parseJson(row.metadata) }) }
  await recordChange(transaction, by, { action: as.action, target: row.id, before: null, after })
  return presentUser(transaction, row)
}

/** @throws ApiError `user_not_found` */
export async function readUser(db: Database, id: string): Promise<User> {
  const row = requireRow(await selectUser(db, { id }), id)
  return present(row, preferencesOf(row.document))
}

/**
 * Sets the given name, and the given keys of the metadata and the settings. A metadata key with the value
 * null is removed.
 * @throws ApiError `user_not_found`
 */
export function updateUser(
  db: Database,
  id: string,
  given: UpdateUserRequest,
  by: AuditContext,
): Promise<User> {
  return db.transaction().execute(async (transaction) => {
    const stored = await lockUser(transaction, id)
    const before = await presentUser(transaction, stored)
    const row: UserRow = {
      ...stored,
      name: given.name ?? stored.name,
      metadata: mergeMetadata(stored.metadata, given.metadata),
    }
    await transaction
      .updateTable('users')
      .set({ name: row.name, metadata: row.metadata, updated_at: isoNow(by.clock) })
      .where('id', '=', id)
      .execute()
    if (given.settings) {
      const preferences = await lockPreferences(transaction, id)
      await mergePreferences(transaction, id, preferencesFrom(given.settings, preferences))
    }
    const after = await presentUser(transaction, row)
    await recordChange(transaction, by, { action: 'user.update', target: id, before, after })
    return after
  })
}

/** @param hash see `hashPassword` */
export async function storePassword(
  transaction: Database,
  id: string,
  hash: string,
  { clock }: AuditContext,
): Promise<void> {
  await transaction
    .updateTable('users')
    .set({ password_hash: hash, updated_at: isoNow(clock) })
    .where('id', '=', id)
    .execute()
}

/** The users who may use the service. */
export const selectEnabledUsers = (db: Database) =>
  db.selectFrom('users').where('users.disabled_at', 'is', null)

export const findEnabledUser = (db: Database, id = ''): Promise<UserRow | undefined> =>
  selectEnabledUsers(db).selectAll().where('id', '=', id).executeTakeFirst()

/** The user of a credential, with their preferences. */
export async function readProfile(db: Database, id: string): Promise<Profile> {
  const { email, name, created_at, document } = requireRow(await selectUser(db, { id }), id)
  return { id, email, name, created_at, preferences: { ...preferencesOf(document) } }
}

/** A user with the document of their preferences. */
const selectUser = prepareQuery((db, { id }: { id: string }) =>
  db
    .selectFrom('users')
    .innerJoin('preferences', 'preferences.user_id', 'users.id')
    .selectAll('users')
    .select('preferences.document')
    .where('users.id', '=', id),
)

/** Reads a user and locks them until the transaction ends. @throws ApiError `user_not_found` */
export async function lockUser(transaction: Database, id: string): Promise<UserRow> {
  return requireRow(await selectUserToWrite(transaction, { id }), id)
}

const selectUserToWrite = prepareQuery((db, { id }: { id: string }) =>
  db.selectFrom('users').selectAll().where('id', '=', id).forUpdate(),
)

function requireRow<Row>([row]: readonly Row[], id: string): Row {
  if (!row) throw new ApiError('user_not_found', `User "${id}" not found`)
  return row
}

const presentUser = async (db: Database, row: UserRow): Promise<User> =>
  present(row, await readPreferences(db, row.id))

function present({ id, email, name, created_at, metadata }: UserRow, preferences: PreferencesRecord): User {
  const settings = userSettingsOf(preferences)
  return { id, email, name, created_at, metadata: readMetadata(metadata), settings }
}

const readMetadata = (document: string) => parseJson(document) as Record<string, unknown>

/** The limit applies to the merged metadata, so that many small requests cannot exceed it. */
function mergeMetadata(stored: string, given: object | undefined): string {
  if (!given) return stored
  const entries = Object.entries({ ...readMetadata(stored), ...given })
  const merged = JSON.stringify(Object.fromEntries(entries.filter(([, value]) => value !== null)))
  if (Buffer.byteLength(merged) <= maxMetadataBytes) return merged
  throw invalidRequest([
    { path: 'metadata', message: 'must not exceed 64 KiB of JSON together with the stored metadata' },
  ])
}
