import type { CredentialSource } from '../../client/client-options.ts'
import { Failure } from '../../contract/failure.ts'
import type { Output } from '../output/output.ts'
import type { Target } from '../target.ts'
import type { SignedIn } from './signed-in.ts'

/** Which credential requests carry, and why that one; never the secret itself. */
export interface CredentialInUse {
  /** Where it comes from, in words. */
  credential: string
  reason: string
  kind: 'api_key' | 'oauth'
  storage: 'environment' | 'keychain' | 'file' | 'process'
  expires_at: string | null
  scope: string | null
}

/** @throws Failure `unauthorized` where there is none */
export async function credentialInUse(
  target: Target,
  signedIn: SignedIn | undefined,
): Promise<CredentialInUse> {
  const lasting = { kind: 'api_key', expires_at: null, scope: null } as const
  if (target.kind === 'local') {
    const credential = 'a key of this process alone'
    const reason = target.named ? 'the profile "local" was named' : 'no service was named'
    return { ...lasting, credential, reason, storage: 'process' }
  }
  if (target.fromEnvironment) {
    const reason = 'the environment comes before what a profile was signed in with'
    return { ...lasting, credential: target.fromEnvironment.source, reason, storage: 'environment' }
  }
  const stored = await signedIn?.stored()
  if (!signedIn || !stored) throw noCredential(target)
  const { storage, profile } = signedIn
  return {
    credential: `${storage === 'file' ? 'a file in plain text' : 'the keychain'}, profile ${profile}`,
    reason: `profile "${profile}" is signed in, and CHATCTL_API_KEY is not set`,
    kind: stored.kind,
    storage,
    expires_at: stored.kind === 'oauth' ? (stored.expires_at ?? null) : null,
    scope: stored.kind === 'oauth' ? (stored.scope ?? null) : null,
  }
}

export function noCredential({
  baseUrl,
  profile,
  isOfProfile,
}: Extract<Target, { kind: 'remote' }>): Failure {
  if (profile !== undefined && !isOfProfile) {
    return new Failure('unauthorized', `Profile "${profile}" is not signed in to ${baseUrl}, but elsewhere`, {
      hint: `Use a profile of its own: chatctl auth login --profile NAME --base-url ${baseUrl}, or CHATCTL_API_KEY.`,
    })
  }
  if (profile !== undefined) {
    return new Failure('unauthorized', `Profile "${profile}" is not signed in to ${baseUrl}`, {
      hint: `chatctl auth login --profile ${profile}, or put an API key into CHATCTL_API_KEY.`,
    })
  }
  return new Failure('unauthorized', `There is no API key for ${baseUrl}`, {
    hint: 'Put it into CHATCTL_API_KEY, or its path into CHATCTL_API_KEY_FILE; or name a profile that is signed in instead of the address, with --profile NAME (chatctl auth list).',
  })
}

/** What somebody can do whose credential the service has refused. */
export function describeRefusal(target: Target): string | undefined {
  if (target.kind === 'local') return undefined
  const { fromEnvironment, profile } = target
  if (fromEnvironment)
    return `The key comes from ${fromEnvironment.source}: it may be mistyped, revoked or past its end.`
  return profile === undefined ? undefined : `Sign in again: chatctl auth login --profile ${profile}`
}

/** What the client sends. @throws Failure `unauthorized` where neither the environment nor the profile has one */
export function credentialOf(
  to: Extract<Target, { kind: 'remote' }>,
  signedIn: SignedIn | undefined,
): string | CredentialSource {
  const credential = to.fromEnvironment?.secret ?? signedIn?.secret
  if (credential === undefined) throw noCredential(to)
  return credential
}

/** Whoever signs in or out with a key in the environment would look for the fault elsewhere. */
export function sayWhatComesFirst({ env, output }: { env: NodeJS.ProcessEnv; output: Output }): void {
  const variable = ['CHATCTL_API_KEY', 'CHATCTL_API_KEY_FILE'].find((name) => env[name])
  if (variable) output.notice(`${variable} is set, and goes on being used: it comes before any sign-in.`)
}
