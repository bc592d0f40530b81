import { demandConfigurationFolder, type Profile } from '../../config/configuration-file.ts'
import { signInKeys } from '../../config/configuration-keys.ts'
import { withCredentialLock } from '../../credentials/credential-lock.ts'
import type { Storage } from '../../credentials/credential-store.ts'
import type { Context } from '../create-context.ts'
import { type Connection, chooseConnection } from './choose-connection.ts'
import { ownerOf, unreadableAsNothing } from './credential-stores.ts'

/** What signing in will change on this machine. */
export interface LoginPlan {
  connection: Connection
  storage: Storage
  /** What was said in this run, and the profile is to know from now on. */
  settings: Profile
}

/**
 * @param insecure whether to keep the credential in a file; where nothing is said, as the last time
 * @throws Failure `input_needed` or `usage` where it is not clear what is meant
 */
export async function planLogin(context: Context, insecure: boolean | undefined): Promise<LoginPlan> {
  const connection = await chooseConnection(context)
  const { stores, options } = context
  const storage =
    insecure === undefined ? stores.ofProfile(connection.profile).storage : insecure ? 'file' : 'keychain'
  const said = signInKeys.filter((key) => ['flag', 'environment'].includes(options[key].source))
  const settings = Object.fromEntries(said.map((key) => [key, String(options[key].value)]))
  return { connection, storage, settings }
}

/**
 * Finds out whether a credential can be kept, and has the keychain unlocked: better before anybody
 * signs in than after.
 *
 * @throws Failure `unauthorized` where it cannot
 */
export async function tryStorage({ directories, stores, signal }: Context, plan: LoginPlan): Promise<void> {
  const { profile, baseUrl } = plan.connection
  const owner = ownerOf(profile, baseUrl)
  // The keychain first: where there is none, nothing is left behind on the way to saying so.
  const store = stores.of(plan.storage)
  await store.read(owner, signal).catch(unreadableAsNothing)
  await store.demandPlace?.(owner)
  demandConfigurationFolder(directories)
  await withCredentialLock(directories, owner, signal, async () => {})
}
