import { withCredentialLock } from '../../../auth/credentials/credential-store.ts'
import type { StoredCredential } from '../../../auth/credentials/stored-credential.ts'
import { commandLine } from '../../../cli/command-line.ts'
import type { Context } from '../../../cli/context/context.ts'
import {
  type CredentialPlace,
  ignoreUnreadable,
  isSamePlace,
  ownerOf,
} from '../../../cli/credential/credential-stores.ts'
import { type Configuration, changeConfiguration, type Profile } from '../../../config/configuration-file.ts'
import { forAuthorizationServer, localProfile } from '../../../config/resolve-options.ts'
import { Failure } from '../../../contract/failure.ts'
import type { Directories } from '../../../system/files/directories.ts'
import type { LoginPlan } from './plan-login.ts'

/** A credential that was stored for an origin until now. */
export interface Replaced {
  origin: string
  credential: StoredCredential
}

/**
 * Stores a verified credential and the options of the profile.
 *
 * @returns the credential that it replaces
 * @throws Failure if either cannot be stored; then neither is stored
 */
export async function storeLogin(
  { directories, stores, output, signal }: Context,
  plan: LoginPlan,
  credential: StoredCredential,
): Promise<Replaced[]> {
  const { connection, storage } = plan
  const { profile, baseUrl } = connection
  const owner = ownerOf(profile, baseUrl)
  const store = stores.of(storage)
  let isUnreadable = false
  // A concurrent renewal would restore the old credential.
  const replaced = await withCredentialLock(directories, owner, signal, async () => {
    const there = await store.read(owner, signal).catch((error: unknown) => {
      isUnreadable = true
      return ignoreUnreadable(error)
    })
    await store.write(owner, credential, signal)
    return there
  })
  try {
    await changeProfile(directories, plan, ({ storage: _, credential_command: __, ...before }) => {
      const places = (before.credentials ?? []).filter(
        (place) => place.origin !== owner.origin || place.storage !== storage,
      )
      return {
        ...before,
        ...(storage === 'file' ? { storage } : {}),
        credentials: [{ origin: owner.origin, storage }, ...places],
      }
    })
  } catch (error) {
    await withCredentialLock(directories, owner, undefined, async () => {
      await (replaced ? store.write(owner, replaced) : store.delete(owner))
    }).catch(() => {})
    throw error
  }
  if (isUnreadable)
    await output.warn('The credential stored before could not be read, so it was not revoked.')
  return replaced ? [{ origin: owner.origin, credential: replaced }] : []
}

/** Stores the command that obtains the credential of the profile. @throws Failure `storage`, `config` */
export async function storeCommand(
  { directories }: Context,
  plan: LoginPlan,
  command: string,
): Promise<void> {
  await changeProfile(directories, plan, (before) => ({ ...before, credential_command: command }))
}

/** Stores the options of a sign-in in its profile. The first profile becomes the default. */
async function changeProfile(
  directories: Directories,
  { connection: { profile, baseUrl }, settings }: LoginPlan,
  change: (before: Profile) => Profile,
): Promise<void> {
  await changeConfiguration(directories, (now) => {
    const before = forAuthorizationServer(settings.auth_url, now.profiles?.[profile] ?? {})
    const kept = { ...change(before), ...settings, base_url: baseUrl }
    const profiles = { ...now.profiles, [profile]: kept }
    const isFirst = Object.keys(profiles).every((name) => name === profile || name === localProfile)
    const standard = now.default_profile ?? (isFirst ? profile : undefined)
    const isThere = standard === localProfile || (standard && Object.hasOwn(profiles, standard))
    return { ...now, ...(standard && { default_profile: isThere ? standard : profile }), profiles }
  })
}

/**
 * Deletes the credentials of a profile for other addresses, or in the other storage. Warns about a
 * credential that cannot be deleted, which `auth logout` can still delete.
 *
 * @returns the deleted credentials
 */
export async function deleteFormerCredentials(
  context: Context,
  { connection, storage }: Pick<LoginPlan, 'connection'> & Pick<CredentialPlace, 'storage'>,
): Promise<Replaced[]> {
  const { directories, stores, output, signal } = context
  const { profile } = connection
  const deleted: CredentialPlace[] = []
  const replaced: Replaced[] = []
  const own = { profile, baseUrl: connection.baseUrl, storage }
  const recorded = stores.formerPlaces(profile, own)
  // An earlier version did not record the place of the profile's own address.
  for (const place of stores.placesOf(profile).filter((one) => !isSamePlace(one, own))) {
    // The sign-in has removed it from the profile.
    if (place.storage === 'command') continue
    try {
      const owner = ownerOf(profile, place.baseUrl)
      const store = stores.of(place.storage)
      const credential = await withCredentialLock(directories, owner, signal, async () => {
        const stored = await store.read(owner, signal).catch(async (error: unknown) => {
          ignoreUnreadable(error)
          await output.warn(`The credential for ${owner.origin} could not be read, so it was not revoked.`)
        })
        await store.delete(owner, signal)
        return stored
      })
      if (credential) replaced.push({ origin: owner.origin, credential })
      deleted.push(place)
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      // Perhaps nothing was ever stored there.
      if (!recorded.some((one) => isSamePlace(one, place))) continue
      await output.warn(
        `The credential for ${place.baseUrl} may still be stored: ${error.message}. Delete it with: ${commandLine('auth', 'logout', '--profile', profile, '--base-url', place.baseUrl)}`,
      )
    }
  }
  await forgetPlaces(context, deleted)
  return replaced
}

/** Removes places from what the profiles know of their credentials. */
export async function forgetPlaces(
  { configuration, directories }: Context,
  places: readonly CredentialPlace[],
): Promise<void> {
  const without = (known: Configuration) => places.reduce(withoutPlace, known)
  if (without(configuration) !== configuration) await changeConfiguration(directories, without)
}

function withoutPlace(configuration: Configuration, { profile, baseUrl, storage }: CredentialPlace) {
  const { credential_command: command, ...others } = configuration.profiles?.[profile] ?? {}
  if (storage === 'command') {
    if (command === undefined) return configuration
    return { ...configuration, profiles: { ...configuration.profiles, [profile]: others } }
  }
  const { credentials, ...rest } = configuration.profiles?.[profile] ?? {}
  if (credentials === undefined) return configuration
  const { origin } = new URL(baseUrl)
  const left = credentials.filter((place) => place.origin !== origin || place.storage !== storage)
  if (left.length === credentials.length) return configuration
  const kept: Profile = { ...rest, ...(left.length > 0 && { credentials: left }) }
  return { ...configuration, profiles: { ...configuration.profiles, [profile]: kept } }
}
