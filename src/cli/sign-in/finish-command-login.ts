import { demandConfigurationDirectory } from '../../config/configuration-file.ts'
import type { Context } from '../context.ts'
import { fetchAccount } from './credential-in-use.ts'
import type { Revoke } from './end-dropped-sign-in.ts'
import { endReplaced, type Login } from './finish-login.ts'
import { obtainFromCommand } from './obtain-from-command.ts'
import type { LoginPlan } from './plan-login.ts'
import { deleteFormerCredentials, storeCommand } from './store-login.ts'

/**
 * Asks the service whether it accepts the credential that a command prints, then stores the command, and ends the
 * earlier sign-in.
 *
 * @throws Failure of the command or the service; nothing is stored then
 */
export async function finishCommandLogin(
  context: Context,
  plan: LoginPlan,
  command: string,
  verify: boolean,
  revoke: Revoke,
): Promise<Login> {
  const { profile, baseUrl } = plan.connection
  demandConfigurationDirectory(context.directories)
  const obtained = verify ? await obtainFromCommand(context, command, profile) : undefined
  const user = obtained && (await fetchAccount(await context.connectTo(profile, baseUrl, obtained.secret)))
  await storeCommand(context, plan, command)
  const storage = 'command'
  for (const old of await deleteFormerCredentials(context, { ...plan, storage })) {
    await endReplaced(context, profile, old, revoke, obtained?.secret)
  }
  return {
    profile,
    base_url: baseUrl,
    kind: obtained?.kind ?? null,
    storage,
    verified: verify,
    expires_at: obtained?.expires_at ?? null,
    scope: null,
    ...(user ? { user } : {}),
  }
}
