import { Failure } from '../../contract/failure.ts'
import type { Database } from '../store/tables.ts'
import {
  type Account,
  checkNewAdmin,
  createAdmin,
  findAccount,
  listAccounts,
  resetAccount,
} from './accounts.ts'
import type { DataAccess } from './data-access.ts'

/** What is done to accounts on the service's own machine. */
export interface AccountAdministration {
  /** @throws Failure `refused` for what no user may have, `conflict` where the email is taken */
  checkAdmin(wanted: { email: string; name: string }): Promise<void>
  /** Makes the data when there is none. @throws as `checkAdmin` */
  createAdmin(wanted: { email: string; name: string; password: string }): Promise<Account>
  /** All users, in the order in which they were made. */
  listAccounts(): Promise<Account[]>
  /** A user by id or email. @throws Failure `not_found` */
  findAccount(user: string): Promise<Account>
  /** A new password, without second factor and sign-ins. @throws as `findAccount`, `refused` for the password */
  resetAccount(user: string, password: string): Promise<Account>
}

export function administerAccounts({ open, openExisting, guarded }: DataAccess): AccountAdministration {
  const withData = <T>(user: string, work: (db: Database) => Promise<T>): Promise<T> =>
    guarded(async () => {
      const store = await openExisting()
      if (store) return work(store.db)
      throw new Failure('not_found', `There is no user ${user}, and no data yet`)
    })
  return {
    checkAdmin: (wanted) => guarded(async () => checkNewAdmin((await openExisting())?.db, wanted)),
    createAdmin: (wanted) =>
      guarded(async () => {
        await checkNewAdmin((await openExisting())?.db, wanted)
        return createAdmin((await open()).db, wanted)
      }),
    listAccounts: () =>
      guarded(async () => {
        const store = await openExisting()
        return store ? listAccounts(store.db) : []
      }),
    findAccount: (user) => withData(user, (db) => findAccount(db, user)),
    resetAccount: (user, password) => withData(user, (db) => resetAccount(db, user, password)),
  }
}
