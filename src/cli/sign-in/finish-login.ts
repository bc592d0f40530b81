import { type StoredCredential, secretOf } from '../../credentials/stored-credential.ts'
import type { Context } from '../create-context.ts'
import { confirmOwner } from './confirm-owner.ts'
import { keepLogin } from './keep-login.ts'
import type { LoginPlan } from './plan-login.ts'
import { type Owner, whoIs } from './who-is.ts'

/** A finished sign-in, as it is shown. */
export interface Login {
  profile: string
  base_url: string
  kind: StoredCredential['kind']
  storage: LoginPlan['storage']
  verified: boolean
  expires_at: string | null
  scope: string | null
  user?: Owner
}

/**
 * Sees whether the service takes the credential, then keeps it.
 *
 * @throws Failure of the service, `unauthorized` for one that it does not take; `declined` or
 *   `input_needed` for another user than before; nothing is kept then
 */
export async function finishLogin(
  context: Context,
  plan: LoginPlan,
  credential: StoredCredential,
  verify: boolean,
): Promise<Login> {
  const { profile, baseUrl } = plan.connection
  const user = verify ? await whoIs(await context.connectTo(baseUrl, secretOf(credential))) : undefined
  await confirmOwner(context, plan, credential, user)
  await keepLogin(context, plan, withUser(credential, user))
  if (plan.storage === 'file') {
    await context.output.warn(
      'The credential is kept in a file in plain text: whoever can read your files has it.',
    )
  }
  const tokens = credential.kind === 'oauth' ? credential : undefined
  return {
    profile,
    base_url: baseUrl,
    kind: credential.kind,
    storage: plan.storage,
    verified: verify,
    expires_at: tokens?.expires_at ?? null,
    scope: tokens?.scope ?? null,
    ...(user ? { user } : {}),
  }
}

/** The next sign-in of the profile is compared with it. */
function withUser(credential: StoredCredential, user: Owner | undefined): StoredCredential {
  return user ? { ...credential, user: { id: user.id, email: user.email } } : credential
}
