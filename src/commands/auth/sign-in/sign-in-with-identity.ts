import { type IdentitySource, readIdentitySource } from '../../../auth/credentials/environment-credential.ts'
import { quoteWord } from '../../../cli/command-line.ts'
import type { Context } from '../../../cli/context/context.ts'
import { variablesInUse } from '../../../cli/credential/credential-in-use.ts'
import { Failure } from '../../../contract/failure.ts'
import type { Revoke } from '../end-dropped-sign-in.ts'
import { finishLogin, type Login } from './finish-login.ts'
import type { LoginPlan } from './plan-login.ts'

/** @throws Failure `usage` if it is not said where the identity token is */
export function demandIdentitySource({ env }: Context): IdentitySource {
  const source = readIdentitySource(env)
  if (source) return source
  throw new Failure('usage', 'CHATCTL_OIDC is not set, so it is not known where the identity token is', {
    hint: 'Set it to github, gitlab, env:NAME, or file:PATH.',
  })
}

/** Signs in with the access token for the identity of the CI job. */
export async function signInWithIdentity(
  context: Context,
  plan: LoginPlan,
  source: IdentitySource,
  verify: boolean,
  revoke: Revoke,
): Promise<Login> {
  const tokens = await context.credentials.exchangeIdentity(source, plan.connection.baseUrl)
  return finishLogin(context, { ...plan, isUnattended: true }, tokens, verify, revoke)
}

/** Says how long the job can use the stored token, and how. */
export function noticeStoredToken({ env, output }: Context, { profile, expires_at }: Login): void {
  const end = expires_at === null ? '' : `is valid until ${expires_at} and `
  output.notice(
    `The access token ${end}cannot be renewed. To use it, unset ${variablesInUse(env).join(' and ')}, and pass --profile ${quoteWord(profile)} to each command.`,
  )
}
