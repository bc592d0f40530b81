import { localProfile } from '../../config/resolve-options.ts'
import { withCredentialLock } from '../../credentials/credential-lock.ts'
import type { TokenSet } from '../../credentials/stored-credential.ts'
import { Failure } from '../../failure.ts'
import type { Context } from '../create-context.ts'
import type { Output } from '../output/output.ts'
import { ownerOf } from './credential-stores.ts'

/** What became of one profile. */
export interface SignOutRow {
  profile: string
  origin: string
  /** Whether there was anything to forget. */
  signed_out: boolean
  /** Whether the server has ended the token. */
  revoked: boolean
}

/**
 * The profiles to sign out.
 *
 * @throws Failure `usage` where none is meant, or the one that has nothing to sign out of
 */
export function signedInProfiles({ configuration, options }: Context, all: boolean): string[] {
  const { profiles = {} } = configuration
  if (all)
    return Object.keys(profiles).filter(
      (name) => profiles[name]?.base_url !== undefined && name !== localProfile,
    )
  const name = options.profile.value
  if (name === undefined || name === localProfile) {
    throw new Failure('usage', 'Nothing says which profile to sign out', {
      hint: 'Name it with --profile NAME, or use --all.',
    })
  }
  return [name]
}

/**
 * Forgets the credential, and then revokes it: whatever the server says or does not say, it is gone
 * from here.
 *
 * @throws Failure where it could not be forgotten
 */
export async function signOutProfile(
  context: Context,
  profile: string,
  revoke: (tokens: TokenSet) => Promise<void>,
): Promise<SignOutRow> {
  const { configuration, stores, output, signal } = context
  const baseUrl = configuration.profiles?.[profile]?.base_url
  if (baseUrl === undefined) throw new Failure('usage', `Profile "${profile}" has no base URL`)
  const owner = ownerOf(profile, baseUrl)
  const store = stores.ofProfile(profile)
  // A renewal that is under way would bring back what is forgotten meanwhile.
  const { stored, signedOut } = await withCredentialLock(owner, signal, async () => ({
    stored: await store.read(owner, signal).catch(unreadableAsNothing),
    signedOut: await store.delete(owner, signal),
  }))
  if (!signedOut) output.notice(`Profile "${profile}" was not signed in.`)
  const revoked = stored?.kind === 'oauth' && (await tryToRevoke(stored, revoke, output))
  return { profile, origin: owner.origin, signed_out: signedOut, revoked }
}

/** It can be deleted without being understood. */
function unreadableAsNothing(error: unknown): undefined {
  if (!(error instanceof Failure) || !/_(unreadable|unsafe|ambiguous)$/.test(error.code)) throw error
}

async function tryToRevoke(
  tokens: TokenSet,
  revoke: (tokens: TokenSet) => Promise<void>,
  output: Output,
): Promise<boolean> {
  if (tokens.revocation_endpoint === undefined) return false
  try {
    await revoke(tokens)
    return true
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    await output.warn(`The token is still valid at the server, which did not revoke it: ${error.message}`)
    return false
  }
}
