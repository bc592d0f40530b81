import { Failure } from '../../contract/failure.ts'
import { localAuditContext, recordChange } from '../domain/audit.ts'
import { endSessions, listSessions, type SignInSession } from '../oauth/browser/sign-in-sessions.ts'
import type { DataAccess } from './data-access.ts'

/** Manages sign-in sessions on the machine of the service. */
export interface SessionAdministration {
  /** The current sessions, oldest first. */
  listSessions(): Promise<SignInSession[]>
  /** @throws Failure `not_found` */
  findSession(id: string): Promise<SignInSession>
  /** A running service refuses the session from the next request on. @throws Failure `not_found` */
  revokeSession(id: string): Promise<SignInSession>
}

export function administerSessions({
  clock,
  openExisting,
  reportingFailures,
}: DataAccess): SessionAdministration {
  const find = async (id: string) => {
    const store = await openExisting()
    const session = store && (await listSessions(store.db, clock)).find((known) => known.id === id)
    if (store && session) return { store, session }
    throw new Failure('not_found', `No session ${id}`, { advice: [{ code: 'list_sign_ins' }] })
  }
  const present = ({ hash: _, ...session }: SignInSession & { hash: string }): SignInSession => session
  return {
    listSessions: () =>
      reportingFailures(async () => {
        const store = await openExisting()
        return store ? (await listSessions(store.db, clock)).map(present) : []
      }),
    findSession: (id) => reportingFailures(async () => present((await find(id)).session)),
    revokeSession: (id) =>
      reportingFailures(async () => {
        const { store, session } = await find(id)
        const { kind, scope, created_at } = session
        await endSessions(store.db, clock, [session], (transaction) =>
          recordChange(transaction, localAuditContext(clock), {
            action: 'session.revoke',
            target: session.user_id,
            before: { id, kind, scope, created_at },
            after: null,
          }),
        )
        return present(session)
      }),
  }
}
