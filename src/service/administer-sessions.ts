import { Failure } from '../failure.ts'
import { endAll, listSessions, type SignInSession } from './oauth/sessions.ts'
import type { Store } from './store/store.ts'

/** What is done to sign-ins on the service's own machine. */
export interface SessionAdministration {
  /** Those that last, oldest first. */
  listSessions(): Promise<SignInSession[]>
  /** @throws Failure `not_found` */
  findSession(id: string): Promise<SignInSession>
  /** Running services refuse what was signed in from the next request on. @throws Failure `not_found` */
  revokeSession(id: string): Promise<SignInSession>
}

/** @param openExisting gives no data where there is none */
export function administerSessions(openExisting: () => Store | undefined): SessionAdministration {
  const find = async (id: string) => {
    const store = openExisting()
    const session = store && (await listSessions(store.db)).find((known) => known.id === id)
    if (store && session) return { store, session }
    throw new Failure('not_found', `There is no session ${id}`, { hint: 'chatctl service sessions list' })
  }
  const present = ({ hash: _, ...session }: SignInSession & { hash: string }): SignInSession => session
  return {
    async listSessions() {
      const store = openExisting()
      return store ? (await listSessions(store.db)).map(present) : []
    },
    findSession: async (id) => present((await find(id)).session),
    async revokeSession(id) {
      const { store, session } = await find(id)
      await endAll(store.db, [session])
      return present(session)
    },
  }
}
