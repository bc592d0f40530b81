import { Failure } from '../failure.ts'
import { type AdminAccount, checkNewAdmin, createAdmin, findAdmin, resetAdmin } from './admin-accounts.ts'
import type { DataAccess } from './data-access.ts'

/** What is done to admins on the service's own machine. */
export interface AdminAdministration {
  /** @throws Failure `refused` for what no user may have, `conflict` where the email is taken */
  checkAdmin(wanted: { email: string; name: string }): Promise<void>
  /** Makes the data when there is none. @throws as `checkAdmin` */
  createAdmin(wanted: { email: string; name: string; password: string }): Promise<AdminAccount>
  /** @throws Failure `not_found`, `conflict` for a user who is no admin */
  findAdmin(email: string): Promise<AdminAccount>
  /** A new password, without second factor and sign-ins. @throws as `findAdmin`, `refused` for the password */
  resetAdmin(email: string, password: string): Promise<AdminAccount>
}

export function administerAdmins({ open, openExisting, guarded }: DataAccess): AdminAdministration {
  const existing = async () => {
    const store = await openExisting()
    if (store) return store.db
    throw new Failure('not_found', 'There is no data yet, and so no admin with a password', {
      hint: 'Without --reset one is made',
    })
  }
  return {
    checkAdmin: (wanted) => guarded(async () => checkNewAdmin((await openExisting())?.db, wanted)),
    createAdmin: (wanted) =>
      guarded(async () => {
        await checkNewAdmin((await openExisting())?.db, wanted)
        return createAdmin((await open()).db, wanted)
      }),
    findAdmin: (email) => guarded(async () => findAdmin(await existing(), email)),
    resetAdmin: (email, password) => guarded(async () => resetAdmin(await existing(), email, password)),
  }
}
