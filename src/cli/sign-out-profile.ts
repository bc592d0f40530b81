import { localProfile } from '../config/resolve-options.ts'
import type { TokenSet } from '../credentials/stored-credential.ts'
import { Failure } from '../failure.ts'
import type { Context } from './create-context.ts'
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
 * Forgets the credential whatever the server says: revoking it is tried first, for afterwards nobody
 * could.
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
  const stored = await store.read(owner, signal).catch(async (error: unknown) => {
    // It can be deleted without being understood.
    if (!(error instanceof Failure) || !error.code.endsWith('_unreadable')) throw error
    return undefined
  })
  let revoked = false
  if (stored?.kind === 'oauth' && stored.revocation_endpoint !== undefined) {
    revoked = await revoke(stored).then(
      () => true,
      async (error: unknown) => {
        if (!(error instanceof Failure)) throw error
        await output.warn(`The token is still valid at the server, which did not revoke it: ${error.message}`)
        return false
      },
    )
  }
  const signedOut = await store.delete(owner, signal)
  if (!signedOut) output.notice(`Profile "${profile}" was not signed in.`)
  return { profile, origin: owner.origin, signed_out: signedOut, revoked }
}
