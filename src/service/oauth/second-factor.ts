import { Secret, TOTP } from 'otpauth'
import { renderSVG } from 'uqr'
import { type Clock, isoNow } from '../../system/clock.ts'
import { type AuditContext, recordChange } from '../domain/audit.ts'
import type { Database } from '../store/tables.ts'
import { isPlain, type SecondFactorCipher } from './second-factor-cipher.ts'

/** RFC 6238 with what every authenticator program assumes: SHA-1, six digits, 30 s. */
const period = 30
const codeOf = (secret: string, label = '') =>
  new TOTP({ issuer: 'chatctl', label, secret: Secret.fromBase32(secret), period })

/** Whether the person has to show a code to sign in. */
export async function hasSecondFactor(db: Database, userId: string): Promise<boolean> {
  const row = await db
    .selectFrom('second_factors')
    .select('confirmed_at')
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return row !== undefined && row.confirmed_at !== null
}

/** A new secret that asks for nothing until a first code has confirmed it; one that is there already stays. */
export async function beginSecondFactor(
  db: Database,
  cipher: SecondFactorCipher,
  userId: string,
): Promise<void> {
  const secret = cipher.encrypt(new Secret({ size: 20 }).base32, userId)
  await db
    .insertInto('second_factors')
    .values({ user_id: userId, secret, confirmed_at: null, last_step: null })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** A secret that waits for its first code, for the eye and for the camera; else undefined. */
export async function readUnconfirmed(
  db: Database,
  cipher: SecondFactorCipher,
  userId: string,
  email: string,
): Promise<{ secret: string; svg: string } | undefined> {
  const row = await db
    .selectFrom('second_factors')
    .select('secret')
    .where('user_id', '=', userId)
    .where('confirmed_at', 'is', null)
    .executeTakeFirst()
  if (!row) return undefined
  const secret = cipher.decrypt(row.secret, userId)
  return { secret, svg: renderSVG(codeOf(secret, email).toString(), { border: 2 }) }
}

/**
 * Takes a code, of this step or one beside it. No code counts twice, nor one older than the last
 * (RFC 6238 section 5.2), in whichever process.
 */
export async function consumeCode(
  db: Database,
  cipher: SecondFactorCipher,
  userId: string,
  code: string,
  clock: Clock,
): Promise<boolean> {
  const row = await db
    .selectFrom('second_factors')
    .select('secret')
    .where('user_id', '=', userId)
    .executeTakeFirst()
  const token = code.replaceAll(' ', '')
  const now = clock.now()
  if (!row) return false
  const secret = cipher.decrypt(row.secret, userId)
  const delta = codeOf(secret).validate({ token, timestamp: now, window: 1 })
  if (delta === null) return false
  const step = Math.floor(now / 1000 / period) + delta
  const taken = await db
    .updateTable('second_factors')
    .set({ last_step: step, ...(isPlain(row.secret) && { secret: cipher.encrypt(secret, userId) }) })
    .where('user_id', '=', userId)
    .where((eb) => eb.or([eb('last_step', 'is', null), eb('last_step', '<', step)]))
    .executeTakeFirst()
  return taken.numUpdatedRows > 0n
}

/** From now on the person is asked for a code; a first one was right. */
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

/** Forgets a secret that waits for its first code. */
export async function cancelSecondFactor(db: Database, userId: string): Promise<void> {
  await db
    .deleteFrom('second_factors')
    .where('user_id', '=', userId)
    .where('confirmed_at', 'is', null)
    .execute()
}

/** From now on the password is enough. */
export async function removeSecondFactor(db: Database, userId: string, by: AuditContext): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    const { numDeletedRows: gone } = await transaction
      .deleteFrom('second_factors')
      .where('user_id', '=', userId)
      .where('confirmed_at', 'is not', null)
      .executeTakeFirst()
    if (gone > 0n) await recordFactorChange(transaction, userId, by, false)
  })
}

const recordFactorChange = (transaction: Database, userId: string, by: AuditContext, isOn: boolean) =>
  recordChange(transaction, by, {
    action: 'user.second_factor',
    target: userId,
    before: { second_factor: !isOn },
    after: { second_factor: isOn },
  })
