import { withCredentialLock } from '../../auth/credentials/credential-store.ts'
import { commandLine } from '../../cli/command-line.ts'
import type { Context } from '../../cli/context/context.ts'
import { type CredentialPlace, isSamePlace, readToReplace } from '../../cli/credential/credential-stores.ts'
import { changeConfiguration, withProfile } from '../../config/configuration-file.ts'
import { forOrigin, localProfile } from '../../config/resolve-options.ts'
import { Failure } from '../../contract/failure.ts'
import type { SignedOut } from '../../view/auth.ts'
import { revokeOrWarn } from './end-dropped-sign-in.ts'

/**
 * What to sign out of: of a profile, or of all. With an address that was named for this run, at that one alone.
 * @throws Failure `usage` if none is meant, or one that has nothing to sign out of
 */
export function chooseSignOuts(
  { configuration: { profiles = {} }, options, credentials: { stores } }: Context,
  all: boolean,
): CredentialPlace[] {
  if (all) return Object.keys(profiles).flatMap((name) => stores.placesOf(name))
  const profile = options.profile.value
  if (profile === localProfile) throw new Failure('usage', 'The embedded service has no sign-in')
  if (profile === undefined) {
    throw new Failure('usage', 'No profile to sign out', {
      hint: 'Name it with --profile NAME, or sign out of all with: chatctl auth logout --all',
    })
  }
  const { value: baseUrl, source } = options.base_url
  const named = source === 'profile' ? undefined : baseUrl
  const places = stores
    .placesOf(profile)
    .filter((place) => named === undefined || isSamePlace(place, { ...place, baseUrl: named }))
  if (places.length > 0) return places
  if (baseUrl === undefined) throw new Failure('usage', `Profile "${profile}" has no base URL`)
  return [{ profile, baseUrl, storage: stores.ofProfile(profile).storage }]
}

/**
 * Deletes the credential, also from its profile, and then revokes it, so that it is deleted even if the server does
 * not confirm the revocation.
 * @throws Failure where it could not be deleted from its place, or from its profile
 */
export async function signOutProfile(context: Context, place: CredentialPlace): Promise<SignedOut> {
  const { profile, baseUrl, storage } = place
  const { configuration, directories, credentials, output, signal } = context
  const { stores } = credentials
  const owner = stores.ownerOf(profile, baseUrl)
  if (storage === 'command') {
    const { credential_command: command = '' } = configuration.profiles?.[profile] ?? {}
    await forgetPlace(context, place)
    return { profile, origin: owner.origin, signed_out: true, revoked: false, credential_command: command }
  }
  const store = stores.of(storage)
  // A renewal that is under way would bring back what is deleted meanwhile. After the lock, the place may have the
  // credential of another sign-in.
  const { stored, signedOut, failure } = await withCredentialLock(directories, owner, signal, async () => {
    const held = await readToReplace(store, owner, output, signal)
    const wasThere = await store.delete(owner, signal)
    // The deleted token must still be revoked.
    const error: unknown = await forgetPlace(context, place).catch((reason: unknown) => reason)
    return { stored: held, signedOut: wasThere, failure: error }
  })
  const stays = 'The stored token was deleted, but may still be valid at the server'
  const isRevocable = stored?.kind === 'oauth' && stored.revocation_endpoint !== undefined
  const revoked = isRevocable && (await revokeOrWarn(context, stored, stays, context.transport))
  if (failure) throw failure
  return { profile, origin: owner.origin, signed_out: signedOut, revoked }
}

/** Removes from a profile where its credential was. */
async function forgetPlace(
  { directories }: Context,
  { profile, baseUrl, storage }: CredentialPlace,
): Promise<void> {
  await changeConfiguration(directories, (now) => {
    const { credential_command: command, credential, ...rest } = now.profiles?.[profile] ?? {}
    if (storage === 'command')
      return command === undefined ? now : withProfile(now, profile, { ...rest, credential })
    const isIt =
      credential && isSamePlace({ ...credential, baseUrl: credential.origin }, { baseUrl, storage })
    return isIt ? withProfile(now, profile, { ...rest, credential_command: command }) : now
  })
}

/**
 * Says what a change of the base URL of a profile means for its credential: how to sign out at the former address, or
 * that its credential command is removed.
 */
export function adviseSignOut(
  { configuration, credentials: { stores }, output }: Context,
  profile: string,
  baseUrl: string | undefined,
): void {
  const known = configuration.profiles?.[profile] ?? {}
  const { credential_command: command } = known
  if (command !== undefined && forOrigin(baseUrl, known).credential_command === undefined)
    output.notice(
      `The credential command of profile "${profile}" is removed, because it was for another base URL: ${command}`,
    )
  const place = stores.storedPlaceOf(profile)
  if (!place) return
  if (baseUrl !== undefined && isSamePlace(place, { ...place, baseUrl })) return
  output.notice(
    `Profile "${profile}" may still have a credential for ${place.baseUrl}. Sign out there with: ${commandLine('auth', 'logout', '--profile', profile, '--base-url', place.baseUrl)}`,
  )
}
