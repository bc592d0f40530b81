import type { Clock } from '../../system/clock.ts'
import { type AuditContext, recordChange } from '../domain/audit.ts'
import type { Database } from '../store/tables.ts'
import type { BrowserSession } from './browser/browser-cookies.ts'
import type { OAuthServer } from './browser/browser-request.ts'
import { inSeconds } from './lifetimes.ts'
import { clientId } from './metadata.ts'
import { digest, digestOfReference, readPayload, writePayload } from './records.ts'
import { defaultScope, scopeNames } from './scopes.ts'

/** A program that waits for a user to approve its sign-in (RFC 8628). */
export interface DeviceRequest {
  /** As the program shows it: `WDJB-MJHT`. */
  userCode: string
  scope: string
  /** The User-Agent of the program. */
  agent: string
  /** The network address of the program. */
  address: string
  /** ISO 8601. */
  requestedAt: string
  /** The key of its record, which grants no access. */
  idHash: string
  payload: Record<string, unknown>
}

/** The letters of oidc-provider: RFC 8628 section 6.1. */
const userCodePattern = /^[B-DF-HJ-NP-TV-XZ]{8}$/

/** @returns the code as it is shown, whatever its case and punctuation; undefined if it cannot be one */
export function readUserCode(text: string): string | undefined {
  const letters = text
    .slice(0, 100)
    .toUpperCase()
    .replace(/[^A-Z0-9]/g, '')
  return userCodePattern.test(letters) ? `${letters.slice(0, 4)}-${letters.slice(4)}` : undefined
}

/** The digest of a user code, however it is written. */
export const digestOfUserCode = (userCode: string): string =>
  digest(`user code ${userCode.replace(/\W/g, '')}`)

/** Undefined for a code that is unknown, has expired, or was already used. */
export async function findDeviceRequest(
  db: Database,
  clock: Clock,
  userCode: string,
): Promise<DeviceRequest | undefined> {
  const row = await db
    .selectFrom('oauth_records')
    .select(['id_hash', 'payload', 'created_at'])
    .where('model', '=', 'DeviceCode')
    .where('user_code_hash', '=', digestOfUserCode(userCode))
    .where('expires_at', '>', inSeconds(clock))
    .executeTakeFirst()
  if (!row) return undefined
  const payload = readPayload(undefined, row.payload)
  const { params, seen } = payload as {
    params?: { scope?: string }
    seen?: { agent?: string; address?: string }
  }
  return {
    userCode,
    scope: scopeNames(params?.scope ?? '').join(' ') || defaultScope,
    agent: seen?.agent ?? '',
    address: seen?.address ?? '',
    requestedAt: row.created_at,
    idHash: row.id_hash,
    payload,
  }
}

/**
 * Lets the program have tokens for the user. As a consent in a browser, it is a separate grant.
 * @returns whether the request was still undecided
 */
export async function approveDeviceRequest(
  { db, provider }: OAuthServer,
  request: DeviceRequest,
  session: BrowserSession,
  by: AuditContext,
): Promise<boolean> {
  const { scope } = request
  const grant = new provider.Grant({ accountId: by.actor, clientId })
  grant.addOIDCScope(scope)
  const grantId = await grant.save()
  const decision = { accountId: by.actor, grantId, scope, sessionUid: session.uid }
  const columns = {
    user_id: by.actor,
    grant_hash: digestOfReference(grantId),
    uid_hash: digestOfReference(session.uid),
  }
  const isFirst = await decide(db, request, { decision, columns }, by, 'device.approve')
  if (!isFirst) await grant.destroy()
  return isFirst
}

/** @returns whether the request was still undecided */
export function denyDeviceRequest(db: Database, request: DeviceRequest, by: AuditContext): Promise<boolean> {
  const decision = { error: 'access_denied', errorDescription: 'The user denied the request' }
  return decide(db, request, { decision, columns: {} }, by, 'device.deny')
}

/** Takes the user code out of use, so that two people or processes cannot both decide. */
function decide(
  db: Database,
  { idHash, payload, scope, agent, address }: DeviceRequest,
  { decision, columns }: { decision: object; columns: object },
  by: AuditContext,
  action: 'device.approve' | 'device.deny',
): Promise<boolean> {
  return db.transaction().execute(async (transaction) => {
    const { numUpdatedRows } = await transaction
      .updateTable('oauth_records')
      .set({ ...columns, payload: writePayload('', { ...payload, ...decision }), user_code_hash: null })
      .where('model', '=', 'DeviceCode')
      .where('id_hash', '=', idHash)
      .where('user_code_hash', 'is not', null)
      .executeTakeFirst()
    if (numUpdatedRows === 0n) return false
    const asked = { scope, agent, address }
    const isApproved = action === 'device.approve'
    await recordChange(transaction, by, {
      action,
      target: by.actor,
      before: isApproved ? null : asked,
      after: isApproved ? asked : null,
    })
    return true
  })
}
