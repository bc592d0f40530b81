import { createHmac, timingSafeEqual } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'
import { renderSVG } from 'uqr'
import { isoNow } from '../../system/clock.ts'
import { type AuditContext, recordChange } from '../domain/audit.ts'
import type { Database, UserRow } from '../store/tables.ts'
import type { OAuthServer } from './browser/browser-request.ts'

type Secrets = Pick<OAuthServer, 'db' | 'cipher'>

/** RFC 6238 with the defaults of all authenticator apps: SHA-1, six digits, 30 s. */
const period = 30
const codeOf = (secret: string, label = '') =>
  new TOTP({ issuer: 'chatctl', label, secret: Secret.fromBase32(secret), period })

/**
 * The code that turns the second factor off if the authenticator is lost: 64 bits as 20 digits. It is derived
 * from the secret, so nothing else is stored, and the next secret has another one.
 */
const recoveryCodeOf = (secret: string): string =>
  String(createHmac('sha256', secret).update('recovery code').digest().readBigUInt64BE()).padStart(20, '0')

const readFactor = (db: Database, userId: string) =>
  db.selectFrom('second_factors').selectAll().where('user_id', '=', userId).executeTakeFirst()

/** Whether signing in requires a code. */
export async function hasSecondFactor(db: Database, userId: string): Promise<boolean> {
  return ((await readFactor(db, userId))?.confirmed_at ?? null) !== null
}

/** In groups of five digits; undefined if the second factor is off. */
export async function readRecoveryCode({ db, cipher }: Secrets, userId: string): Promise<string | undefined> {
  const row = await readFactor(db, userId)
  if (!row?.confirmed_at) return undefined
  return recoveryCodeOf(cipher.decrypt(row.secret, userId)).match(/.{5}/g)?.join(' ')
}

/** Stores a new secret, which is not used before a first code confirms it. An existing secret stays. */
export async function beginSecondFactor({ db, cipher }: Secrets, userId: string): Promise<void> {
  const secret = cipher.encrypt(new Secret({ size: 20 }).base32, userId)
  await db
    .insertInto('second_factors')
    .values({ user_id: userId, secret, confirmed_at: null, last_step: null })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** A secret before its first code, as text and as a QR code; undefined if there is none. */
export async function readUnconfirmed(
  { db, cipher }: Secrets,
  { id, email }: UserRow,
): Promise<{ secret: string; svg: string } | undefined> {
  const row = await readFactor(db, id)
  if (!row || row.confirmed_at !== null) return undefined
  const secret = cipher.decrypt(row.secret, id)
  return { secret, svg: renderSVG(codeOf(secret, email).toString(), { border: 2 }) }
}

/**
 * Accepts a code of the current time step or an adjacent one. In all processes together, a code is accepted
 * once, and never after a newer one (RFC 6238 section 5.2). The recovery code turns the second factor off.
 */
export async function consumeCode(
  { db, cipher }: Secrets,
  userId: string,
  code: string,
  by: AuditContext,
): Promise<boolean> {
  const row = await readFactor(db, userId)
  const token = code.replaceAll(' ', '')
  const now = by.clock.now()
  if (!row) return false
  const secret = cipher.decrypt(row.secret, userId)
  const [given, recovery] = [Buffer.from(token), Buffer.from(recoveryCodeOf(secret))]
  if (given.length === recovery.length && timingSafeEqual(given, recovery))
    return removeSecondFactor(db, userId, by)
  const delta = codeOf(secret).validate({ token, timestamp: now, window: 1 })
  if (delta === null) return false
  const step = Math.floor(now / 1000 / period) + delta
  const taken = await db
    .updateTable('second_factors')
    .set({ last_step: step })
    .where('user_id', '=', userId)
    .where((eb) => eb.or([eb('last_step', 'is', null), eb('last_step', '<', step)]))
    .executeTakeFirst()
  return taken.numUpdatedRows > 0n
}

/** Turns the second factor on, after a first correct code. */
export async function confirmSecondFactor(db: Database, userId: string, by: AuditContext): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    const { numUpdatedRows: changed } = await transaction
      .updateTable('second_factors')
      .set({ confirmed_at: isoNow(by.clock) })
      .where('user_id', '=', userId)
      .where('confirmed_at', 'is', null)
      .executeTakeFirst()
    if (changed > 0n) await recordFactorChange(transaction, userId, by, true)
  })
}

/** Deletes a secret before its first code. */
export async function cancelSecondFactor(db: Database, userId: string): Promise<void> {
  await db
    .deleteFrom('second_factors')
    .where('user_id', '=', userId)
    .where('confirmed_at', 'is', null)
    .execute()
}

/** Turns the second factor off. @returns whether it was on */
export function removeSecondFactor(db: Database, userId: string, by: AuditContext): Promise<boolean> {
  return db.transaction().execute(async (transaction) => {
    const { numDeletedRows: gone } = await transaction
      .deleteFrom('second_factors')
      .where('user_id', '=', userId)
      .where('confirmed_at', 'is not', null)
      .executeTakeFirst()
    if (gone > 0n) await recordFactorChange(transaction, userId, by, false)
    return gone > 0n
  })
}

const recordFactorChange = (transaction: Database, userId: string, by: AuditContext, isOn: boolean) =>
  recordChange(transaction, by, {
    action: 'user.second_factor',
    target: userId,
    before: { second_factor: !isOn },
    after: { second_factor: isOn },
  })
