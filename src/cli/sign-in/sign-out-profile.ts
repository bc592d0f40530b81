import { localProfile } from '../../config/resolve-options.ts'
import { withCredentialLock } from '../../credentials/credential-lock.ts'
import type { TokenSet } from '../../credentials/stored-credential.ts'
import { Failure } from '../../failure.ts'
import type { Context } from '../create-context.ts'
import type { Output } from '../output/output.ts'
import type { Connection } from './choose-connection.ts'
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
 * What to sign out of.
 *
 * @throws Failure `usage` where none is meant, or one that has nothing to sign out of
 */
export function chooseSignOuts({ configuration, options }: Context, all: boolean): Connection[] {
  if (all) {
    return Object.entries(configuration.profiles ?? {}).flatMap(([profile, { base_url: baseUrl }]) =>
      baseUrl === undefined || profile === localProfile ? [] : [{ profile, baseUrl }],
    )
  }
  const profile = options.profile.value
  if (profile === localProfile) throw new Failure('usage', 'The embedded service has no sign-in to end')
  if (profile === undefined) {
    throw new Failure('usage', 'Nothing says which profile to sign out', {
      hint: 'Name it with --profile NAME, or use --all.',
    })
  }
  const baseUrl = options.base_url.value
  if (baseUrl === undefined) throw new Failure('usage', `Profile "${profile}" has no base URL`)
  return [{ profile, baseUrl }]
}

/**
 * Forgets the credential, and then revokes it: whatever the server says or does not say, it is gone
 * from here.
 *
 * @throws Failure where it could not be forgotten
 */
export async function signOutProfile(
  { stores, output, signal }: Context,
  { profile, baseUrl }: Connection,
  revoke: (tokens: TokenSet) => Promise<void>,
): Promise<SignOutRow> {
  const owner = ownerOf(profile, baseUrl)
  const store = stores.ofProfile(profile)
  // A renewal that is under way would bring back what is forgotten meanwhile.
  const { stored, signedOut } = await withCredentialLock(owner, signal, async () => ({
    stored: await store.read(owner, signal).catch(async (error: unknown) => {
      // It can be deleted without being understood.
      if (!(error instanceof Failure) || !/_(unreadable|unsafe)$/.test(error.code)) throw error
      await output.warn(`Nothing was revoked, for what is kept could not be read: ${error.message}`)
      return undefined
    }),
    signedOut: await store.delete(owner, signal),
  }))
  if (!signedOut) output.notice(`Profile "${profile}" was not signed in.`)
  const revoked = stored?.kind === 'oauth' && (await tryToRevoke(stored, revoke, output))
  return { profile, origin: owner.origin, signed_out: signedOut, revoked }
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
    await output.warn(
      `The token is deleted here, but may still be valid at the server: ${(error as Error).message}`,
    )
    if (!(error instanceof Failure)) throw error
    return false
  }
}
