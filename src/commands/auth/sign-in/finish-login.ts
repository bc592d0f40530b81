import { type IdentitySource, readIdentitySource } from '../../../auth/credentials/environment-credential.ts'
import { type StoredCredential, secretOf } from '../../../auth/credentials/stored-credential.ts'
import { commandLine, quoteWord } from '../../../cli/command-line.ts'
import type { Context } from '../../../cli/context/context.ts'
import {
  fetchAccount,
  type SignedInAccount,
  variablesInUse,
} from '../../../cli/credential/credential-in-use.ts'
import type { CredentialPlace } from '../../../cli/credential/credential-stores.ts'
import { obtainFromCommand } from '../../../cli/credential/obtain-from-command.ts'
import { demandConfigurationDirectory } from '../../../config/configuration-file.ts'
import { Failure } from '../../../contract/failure.ts'
import { stripControls } from '../../../terminal/strip-controls.ts'
import { endDroppedSignIn } from '../end-dropped-sign-in.ts'
import type { LoginPlan } from './plan-login.ts'
import { deleteFormerCredential, type Replaced, storeCommand, storeLogin } from './store-login.ts'

/** A finished sign-in, as it is shown. */
export interface Login {
  profile: string
  base_url: string
  /** Null if it is not known. */
  kind: StoredCredential['kind'] | null
  storage: CredentialPlace['storage']
  verified: boolean
  expires_at: string | null
  scope: string | null
  user?: SignedInAccount
}

/**
 * Asks the service whether it accepts the credential, then stores it and ends what it replaces.
 * @throws Failure of the service, `unauthorized` for one that it does not accept; `declined` or
 *   `input_needed` for another user than before; nothing is stored then, and tokens are revoked
 */
export async function finishLogin(
  context: Context,
  plan: LoginPlan,
  credential: StoredCredential,
  verify: boolean,
): Promise<Login> {
  const { profile, baseUrl } = plan.connection
  let account: { user?: SignedInAccount; expiresAt?: string | undefined }
  let replaced: Replaced[]
  try {
    account = verify
      ? await fetchAccount(await context.connectTo(profile, baseUrl, secretOf(credential)))
      : {}
    await confirmOwner(context, plan, credential, account.user)
    replaced = await storeLogin(context, plan, withAccount(credential, account))
  } catch (error) {
    if (credential.kind === 'oauth') {
      await endDroppedSignIn(context, {
        profile,
        tokens: credential,
        subject: 'The new sign-in',
        now: 'unchanged',
      })
    }
    throw error
  }
  await context.credentialUser.rememberProfile(profile, baseUrl, account.user?.id ?? undefined)
  const former = await deleteFormerCredential(context, plan)
  for (const old of [...replaced, ...former]) {
    await endReplaced(context, profile, old, credential, secretOf(credential))
  }
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
    expires_at: tokens?.expires_at ?? account.expiresAt ?? null,
    scope: tokens?.scope ?? null,
    user: account.user,
  }
}

/** The next sign-in of the profile is compared with the user. The end of a token is known from its response. */
function withAccount(
  credential: StoredCredential,
  { user, expiresAt }: { user?: SignedInAccount; expiresAt?: string | undefined },
): StoredCredential {
  return {
    ...credential,
    ...(user && { user: { id: user.id, email: user.email } }),
    ...(credential.kind === 'api_key' && expiresAt !== undefined && { expires_at: expiresAt }),
  }
}

/** @param secret of the new credential, if it is known */
async function endReplaced(
  context: Context,
  profile: string,
  { origin, credential: old }: Replaced,
  now: StoredCredential | 'command',
  secret: string | undefined,
): Promise<void> {
  if (old.kind === 'oauth') {
    return endDroppedSignIn(context, { profile, tokens: old, subject: 'The earlier sign-in', now })
  }
  if (secret === old.key) return
  context.output.notice(
    `chatctl cannot revoke API keys. The key that was stored before may stay valid at ${origin}.`,
  )
}

/**
 * Asks before a browser sign-in gives a profile to another user, who may
 * have completed it. An API key is the choice of the user who gives it.
 * @throws Failure `declined`; `input_needed` in a non-interactive run, with the command that helps
 */
async function confirmOwner(
  { credentials: { stores }, confirm, signal }: Context,
  { connection: { profile, baseUrl }, isUnattended }: LoginPlan,
  { kind }: StoredCredential,
  owner: SignedInAccount | undefined,
): Promise<void> {
  if (kind === 'api_key' || !owner || isUnattended) return
  const earlier = await stores
    .ofProfile(profile)
    .read(stores.ownerOf(profile, baseUrl), signal)
    .catch((error: unknown) => {
      // An unreadable credential names no user.
      if (error instanceof Failure) return undefined
      throw error
    })
  if (!earlier?.user || isSameUser(earlier.user, owner)) return
  const [before, now] = [earlier.user, owner].map(({ id, email }) => stripControls(email ?? id ?? ''))
  const words = `Profile "${profile}" was signed in as ${before}, and the browser signed in ${now}`
  const hint = `To change the user, sign out first with: ${commandLine('auth', 'logout', '--profile', profile)}`
  const refusal = new Failure('input_needed', words, { code: 'user_mismatch', hint })
  await confirm(`${words}. Continue as ${now}?`, refusal)
}

/** As far as the service names both. */
function isSameUser(
  one: Pick<SignedInAccount, 'id' | 'email'>,
  other: Pick<SignedInAccount, 'id' | 'email'>,
): boolean {
  if (one.id !== null && other.id !== null) return one.id === other.id
  if (one.email === null || other.email === null) return true
  return one.email.toLowerCase() === other.email.toLowerCase()
}

/**
 * Asks the service whether it accepts the credential that a command prints, then stores the command, and ends the
 * earlier sign-in.
 * @throws Failure of the command or the service; nothing is stored then
 */
export async function finishCommandLogin(
  context: Context,
  plan: LoginPlan,
  command: string,
  verify: boolean,
): Promise<Login> {
  const { profile, baseUrl } = plan.connection
  demandConfigurationDirectory(context.directories)
  const obtained = verify ? await obtainFromCommand(context, command, profile) : undefined
  const account = obtained && (await fetchAccount(await context.connectTo(profile, baseUrl, obtained.secret)))
  await storeCommand(context, plan, command)
  await context.credentialUser.rememberProfile(profile, baseUrl, account?.user.id ?? undefined)
  const storage = 'command'
  for (const old of await deleteFormerCredential(context, { ...plan, storage })) {
    await endReplaced(context, profile, old, storage, obtained?.secret)
  }
  return {
    profile,
    base_url: baseUrl,
    kind: obtained?.kind ?? null,
    storage,
    verified: verify,
    expires_at: obtained?.expires_at ?? account?.expiresAt ?? null,
    scope: null,
    user: account?.user,
  }
}

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
): Promise<Login> {
  const tokens = await context.credentials.exchangeIdentity(source, plan.connection.baseUrl)
  return finishLogin(context, { ...plan, isUnattended: true }, tokens, verify)
}

/** Says how long the job can use the stored token, and how. */
export function noticeStoredToken({ env, output }: Context, { profile, expires_at }: Login): void {
  const end = expires_at === null ? '' : `is valid until ${expires_at} and `
  output.notice(
    `The access token ${end}cannot be renewed. To use it, unset ${variablesInUse(env).join(' and ')}, and pass --profile ${quoteWord(profile)} to each command.`,
  )
}
