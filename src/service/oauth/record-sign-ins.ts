import type { Clock } from '../../system/clock.ts'
import { type AuditContext, auditContextOf, recordChange } from '../domain/audit.ts'
import type { Database } from '../store/tables.ts'
import type { BrowserRequest } from './browser/browser-request.ts'
import { signInSessionIdOf } from './browser/sign-in-sessions.ts'

/** The audit context of a change that a user, or `anonymous`, makes in a browser or as a program. */
export function contextOfVisit({ response }: BrowserRequest, userId: string, clock: Clock): AuditContext {
  const requestId = String(response.getHeader('x-request-id') ?? '') || null
  return auditContextOf({ userId, keyId: null }, requestId, clock)
}

/** Records that a sign-in session of a user begins or ends. @param hash the digest that identifies the session */
export function recordSignIn(
  { db, clock }: { db: Database; clock: Clock },
  visit: BrowserRequest,
  action: 'sign_in.succeeded' | 'sign_out',
  { userId, kind, hash, ...more }: { userId: string; kind: string; hash: string; scope?: string | undefined },
): Promise<void> {
  const after = { kind, session: signInSessionIdOf(hash), ...more, address: visit.address }
  return recordChange(db, contextOfVisit(visit, userId, clock), {
    action,
    target: userId,
    before: null,
    after,
  })
}
