import type { Context } from '../../../cli/context/context.ts'
import { fetchAccount } from '../../../cli/credential/credential-in-use.ts'
import { obtainFromCommand } from '../../../cli/credential/obtain-from-command.ts'
import { demandConfigurationDirectory } from '../../../config/configuration-file.ts'
import type { Revoke } from '../end-dropped-sign-in.ts'
import { endReplaced, type Login } from './finish-login.ts'
import type { LoginPlan } from './plan-login.ts'
import { deleteFormerCredential, storeCommand } from './store-login.ts'

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
  const account = obtained && (await fetchAccount(await context.connectTo(profile, baseUrl, obtained.secret)))
  await storeCommand(context, plan, command)
  const storage = 'command'
  for (const old of await deleteFormerCredential(context, { ...plan, storage })) {
    await endReplaced(context, profile, old, revoke, obtained?.secret)
  }
  return {
    profile,
    base_url: baseUrl,
    kind: obtained?.kind ?? null,
    storage,
    verified: verify,
    expires_at: obtained?.expires_at ?? account?.expiresAt ?? null,
    scope: null,
    ...(account ? { user: account.user } : {}),
  }
}
