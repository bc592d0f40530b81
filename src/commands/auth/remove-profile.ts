import { isOfWholeKeychain } from '../../auth/credentials/keychain-failure.ts'
import type { Context } from '../../cli/context/context.ts'
import { type CredentialPlace, isSamePlace } from '../../cli/credential/credential-stores.ts'
import { changeConfiguration } from '../../config/configuration-file.ts'
import { formerNameOf, withoutProfile } from '../../config/profile-changes.ts'
import { Failure } from '../../contract/failure.ts'
import type { Revoke } from './end-dropped-sign-in.ts'
import { forgetPlaces } from './sign-in/store-login.ts'
import { type SignOutRow, signOutProfile } from './sign-out-profile.ts'

/** What belongs to a profile. */
export interface Removal {
  /** Where it has credentials, or may have some. */
  places: readonly CredentialPlace[]
  isDefault: boolean
  /** The directories in which it is used without being named. */
  directories: readonly string[]
}

/** @throws Failure `usage` for the embedded service, and for a profile that does not exist */
export function planRemoval({ configuration, stores }: Context, profile: string): Removal {
  withoutProfile(configuration, profile)
  const places = stores.placesOf(profile)
  const former = formerNameOf(configuration, profile)
  const leftovers = former === undefined ? [] : places.map((place) => ({ ...place, profile: former }))
  const directories = Object.entries(configuration.directories ?? {})
  return {
    places: [...places, ...leftovers],
    isDefault: configuration.default_profile === profile,
    directories: directories.filter(([, name]) => name === profile).map(([directory]) => directory),
  }
}

/**
 * Deletes and revokes all credentials of a profile, then removes the profile.
 *
 * @returns the credentials that existed
 * @throws Failure if one could not be deleted; the profile remains then, and knows that one
 */
export async function removeProfile(
  context: Context,
  profile: string,
  { places }: Removal,
  revoke: Revoke,
): Promise<SignOutRow[]> {
  const rows: SignOutRow[] = []
  const done: CredentialPlace[] = []
  let failure: Failure | undefined
  for (const place of places) {
    try {
      rows.push(await signOutProfile(context, place, (tokens) => revoke(tokens, context.transport)))
      done.push(place)
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      const recorded = context.stores.formerPlaces(place.profile, undefined)
      // Without a keychain, a profile that was never signed in can still be removed.
      if (recorded.some((one) => isSamePlace(one, place)) || !isOfWholeKeychain(error)) failure ??= error
    }
  }
  if (failure) {
    await forgetPlaces(context, done)
    throw failure
  }
  await changeConfiguration(context.directories, (now) => withoutProfile(now, profile))
  return rows.filter((row) => row.signed_out)
}
