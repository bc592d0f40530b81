import type { HeldCredential, RenewingCredential } from '../../auth/credential-sources.ts'
import { describeIdentitySource } from '../../auth/credentials/environment-credential.ts'
import type { StoredCredential } from '../../auth/credentials/stored-credential.ts'
import type { Client } from '../../client/client.ts'
import type { ClientEvent } from '../../client/client-event.ts'
import type { CredentialSource } from '../../client/client-options.ts'
import type { Options } from '../../config/resolve-options.ts'
import { roundDuration } from '../../config/units.ts'
import { Failure } from '../../contract/failure.ts'
import { credentialExpiryOf } from '../../contract/headers.ts'
import type { Clock } from '../../system/clock.ts'
import { commandLine, quoteWord } from '../command-line.ts'
import type { BaseContext } from '../context/base-context.ts'
import type { Connection } from '../context/connection.ts'
import type { RemoteTarget, Target } from '../context/target.ts'
import type { Output } from '../output/output.ts'

/** Which credential requests use, and why. Without the secret. */
interface CredentialInUse {
  /** Where it comes from, in words. */
  credential: string
  reason: string
  /** Null if it is not known. */
  kind: 'api_key' | 'oauth' | null
  storage: 'environment' | 'keychain' | 'file' | 'process' | 'command'
  expires_at: string | null
  scope: string | null
}

/** @throws Failure `unauthorized` without a credential */
export async function credentialInUse(
  target: Target,
  signedIn: RenewingCredential | undefined,
  held: HeldCredential | undefined,
): Promise<CredentialInUse> {
  const lasting = { kind: 'api_key', expires_at: null, scope: null } as const
  if (target.kind === 'local') {
    const credential = 'a temporary API key of the embedded service'
    const reason = target.named ? 'profile "local" is selected' : 'no service is selected'
    return { ...lasting, credential, reason, storage: 'process' }
  }
  if (target.fromEnvironment) {
    const reason = 'environment variables take precedence over profiles'
    return { ...lasting, credential: target.fromEnvironment.source, reason, storage: 'environment' }
  }
  const { expires_at = null, scope = null, kind = null } = held?.current ?? {}
  if (target.identity) {
    const credential = `an access token for ${describeIdentitySource(target.identity)}`
    const reason = 'CHATCTL_OIDC is set, and CHATCTL_API_KEY is not'
    return { credential, reason, kind: 'oauth', storage: 'process', expires_at, scope }
  }
  if (target.command !== undefined) {
    const credential = `the output of the command: ${target.command}`
    const reason = `profile "${target.profile}" has a credential command, and CHATCTL_API_KEY is not set`
    return { credential, reason, kind, storage: 'command', expires_at, scope }
  }
  const stored = await signedIn?.stored()
  if (!signedIn || !stored) throw noCredential(target)
  const { storage, profile } = signedIn
  return {
    credential: `${storage === 'file' ? 'a file in plain text' : 'the keychain'}, profile ${profile}`,
    reason: `profile "${profile}" is signed in, and CHATCTL_API_KEY is not set`,
    kind: stored.kind,
    storage,
    expires_at: stored.expires_at ?? null,
    scope: stored.kind === 'oauth' ? (stored.scope ?? null) : null,
  }
}

export function noCredential({ baseUrl, profile, isOfProfile }: RemoteTarget): Failure {
  if (profile !== undefined && !isOfProfile) {
    return new Failure(
      'unauthorized',
      `No credential for ${baseUrl}: profile "${profile}" has another base URL`,
      {
        hint: `Set CHATCTL_API_KEY, or sign in with a new profile: ${commandLine('auth', 'login', '--profile', 'NAME', '--base-url', baseUrl)}`,
      },
    )
  }
  if (profile !== undefined) {
    return new Failure('unauthorized', `Not signed in to ${baseUrl} (profile "${profile}")`, {
      hint: `Sign in with: chatctl auth login --profile ${quoteWord(profile)}`,
    })
  }
  return new Failure('unauthorized', `No API key for ${baseUrl}`, {
    hint: 'Set CHATCTL_API_KEY or CHATCTL_API_KEY_FILE, or select a signed-in profile instead of the base URL with --profile NAME. List the profiles with: chatctl auth list',
  })
}

/** The connection, before the stored credential of the profile is read. */
export function connectionTo(target: Target, options: Options): Connection {
  return {
    baseUrl: target.kind === 'remote' ? target.baseUrl : undefined,
    baseUrlFrom: options.base_url.source,
    profile: options.profile.value,
    refusalHint: describeRefusal(target, undefined),
  }
}

/** Reads what the profile is signed in with, for the hint of a later 401. */
export async function adviseOnRefusal(
  connection: Connection,
  target: Target,
  signedIn: RenewingCredential | undefined,
): Promise<void> {
  const stored = await signedIn?.stored().catch(() => undefined)
  connection.refusalHint = describeRefusal(target, stored?.kind)
}

/** What to do if the service rejects the credential. @param kind of what the profile is signed in with */
function describeRefusal(target: Target, kind: StoredCredential['kind'] | undefined): string | undefined {
  if (target.kind === 'local') return undefined
  const { fromEnvironment, identity, command, profile } = target
  if (fromEnvironment)
    return `The API key comes from ${fromEnvironment.source}. It may be mistyped, revoked, or expired.`
  if (identity) return `The access token comes from ${describeIdentitySource(identity)} (CHATCTL_OIDC).`
  if (command !== undefined)
    return `The credential may be revoked or expired. Profile "${profile}" gets it from the command: ${command}`
  if (profile === undefined) return undefined
  const flag = kind === 'api_key' ? ' --with-api-key' : ''
  return `Sign in again with: chatctl auth login --profile ${quoteWord(profile)}${flag}`
}

/** What the client sends. @throws Failure `unauthorized` where neither the environment nor the profile has one */
export function credentialOf(
  to: RemoteTarget,
  signedIn: RenewingCredential | undefined,
  held: HeldCredential | undefined,
): string | CredentialSource {
  const credential = to.fromEnvironment?.secret ?? held?.secret ?? signedIn?.secret
  if (credential === undefined) throw noCredential(to)
  return credential
}

/** The variables that are set and take precedence over a stored credential, the first one first. */
export function variablesInUse(env: NodeJS.ProcessEnv): string[] {
  return ['CHATCTL_API_KEY', 'CHATCTL_API_KEY_FILE', 'CHATCTL_OIDC'].filter((name) => env[name])
}

/** A key in the environment takes precedence over what signing in or out has just changed. */
export function noticeCredentialPrecedence({ env, output }: BaseContext): void {
  const [variable] = variablesInUse(env)
  if (variable) output.notice(`${variable} is set and takes precedence over the sign-in.`)
}

/** Whom a credential belongs to, as far as the service says so. */
export interface SignedInAccount {
  id: string | null
  email: string | null
  name: string | null
}

/** Asks the service, with the credential that the client sends. */
export async function fetchAccount(
  client: Client,
): Promise<{ user: SignedInAccount; expiresAt: string | undefined }> {
  const { body, headers } = await client.users.profile()
  const user = { id: body?.id ?? null, email: body?.email ?? null, name: body?.name ?? null }
  return { user, expiresAt: credentialExpiryOf(headers) }
}

/** A week, in ms. */
const notice = 7 * 86_400_000

interface Sources {
  signedIn: RenewingCredential | undefined
  held: HeldCredential | undefined
}

/** Warns once in a run that its API key ends soon, if the service tells it. Tokens are renewed instead. */
export class ExpiryWarning {
  readonly #clock: Clock
  #expiresAt: string | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** @returns what a client is to tell its events, which `observe` is told as well */
  follow(observe: ((event: ClientEvent) => void) | undefined): (event: ClientEvent) => void {
    return (event) => {
      if (event.type === 'response') this.#expiresAt = event.credentialExpiresAt ?? this.#expiresAt
      observe?.(event)
    }
  }

  /** After the last request, so that the warning does not interrupt a reply. */
  async warn(output: Output, target: Target, sources: Sources): Promise<void> {
    const left = this.#expiresAt === undefined ? Infinity : Date.parse(this.#expiresAt) - this.#clock.now()
    if (left <= 0 || left > notice || !(await isApiKey(target, sources))) return
    await output.warn(`The API key expires in ${roundDuration(left)}, at ${this.#expiresAt}.`)
  }
}

async function isApiKey(target: Target, { signedIn, held }: Sources): Promise<boolean> {
  if (target.kind === 'local') return false
  // The tokens of the embedded service, such as that of chatctl exec, are short by design.
  if (target.fromEnvironment) return !target.fromEnvironment.secret.startsWith('ct_')
  // A credential command that prints access tokens can say so.
  if (held) return held.current?.kind !== 'oauth'
  const stored = await signedIn?.stored().catch(() => undefined)
  return stored?.kind === 'api_key'
}
