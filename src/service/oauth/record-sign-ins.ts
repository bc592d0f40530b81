import type { Clock } from '../../system/clock.ts'
import { auditContextOf, recordChange } from '../domain/audit.ts'
import type { Database } from '../store/tables.ts'
import type { BrowserRequest } from './browser/browser-request.ts'
import { signInSessionIdOf } from './browser/sign-in-sessions.ts'

/**
 * Records that a sign-in session of a user begins or ends.
 * @param hash the digest that identifies the session
 */
export function recordSignIn(
  db: Database,
  clock: Clock,
  { address, response }: BrowserRequest,
  action: 'sign_in.succeeded' | 'sign_out',
  { userId, kind, hash, ...more }: { userId: string; kind: string; hash: string; scope?: string | undefined },
): Promise<void> {
  const requestId = String(response.getHeader('x-request-id') ?? '') || null
  const after = { kind, session: signInSessionIdOf(hash), ...more, address }
  const by = auditContextOf({ userId, keyId: null }, requestId, clock)
  return recordChange(db, by, { action, target: userId, before: null, after })
}
