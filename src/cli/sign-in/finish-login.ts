import { type StoredCredential, secretOf } from '../../credentials/stored-credential.ts'
import type { Context } from '../create-context.ts'
import { confirmOwner } from './confirm-owner.ts'
import { endDroppedSignIn, type Revoke } from './end-dropped-sign-in.ts'
import { deleteFormerCredentials, keepLogin, type Replaced } from './keep-login.ts'
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
 * Asks the service whether it accepts the credential, then stores it and ends what it replaces.
 *
 * @throws Failure of the service, `unauthorized` for one that it does not accept; `declined` or
 *   `input_needed` for another user than before; nothing is stored then, and tokens are revoked
 */
export async function finishLogin(
  context: Context,
  plan: LoginPlan,
  credential: StoredCredential,
  verify: boolean,
  revoke: Revoke,
): Promise<Login> {
  const { profile, baseUrl } = plan.connection
  let user: Owner | undefined
  let replaced: Replaced[]
  try {
    user = verify ? await whoIs(await context.connectTo(profile, baseUrl, secretOf(credential))) : undefined
    await confirmOwner(context, plan, credential, user)
    replaced = await keepLogin(context, plan, withUser(credential, user))
  } catch (error) {
    if (credential.kind === 'oauth') {
      await endDroppedSignIn(context, { profile, tokens: credential, subject: 'The new sign-in' }, revoke)
    }
    throw error
  }
  const former = await deleteFormerCredentials(context, plan)
  for (const old of [...replaced, ...former]) await endReplaced(context, profile, old, revoke, credential)
  if (plan.storage === 'file') {
    await context.output.warn(
      'The credential is stored unencrypted in a file. Anyone who can read your files can use it.',
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

async function endReplaced(
  context: Context,
  profile: string,
  { origin, credential: old }: Replaced,
  revoke: Revoke,
  credential: StoredCredential,
): Promise<void> {
  if (old.kind === 'oauth') {
    const dropped = { profile, tokens: old, subject: 'The earlier sign-in' }
    return endDroppedSignIn(context, dropped, revoke, credential)
  }
  if (secretOf(credential) === old.key) return
  context.output.notice(
    `chatctl cannot revoke API keys. The key that was stored before may stay valid at ${origin}.`,
  )
}
