import { withCredentialLock } from '../../../auth/credentials/credential-store.ts'
import type { StoredCredential } from '../../../auth/credentials/stored-credential.ts'
import { commandLine } from '../../../cli/command-line.ts'
import type { Context } from '../../../cli/context/context.ts'
import {
  type CredentialPlace,
  isSamePlace,
  readToReplace,
} from '../../../cli/credential/credential-stores.ts'
import {
  changeConfiguration,
  type Profile,
  profileId,
  withProfile,
} from '../../../config/configuration-file.ts'
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
 * @returns the credential that it replaces
 * @throws Failure if either cannot be stored; then neither is stored
 */
export async function storeLogin(
  { directories, credentials: { stores }, output, signal }: Context,
  plan: LoginPlan,
  credential: StoredCredential,
): Promise<Replaced[]> {
  const { connection, storage } = plan
  const owner = stores.ownerOf(connection.profile, connection.baseUrl)
  const { origin } = owner
  const store = stores.of(storage)
  // A concurrent renewal would restore the old credential.
  const replaced = await withCredentialLock(directories, owner, signal, async () => {
    const there = await readToReplace(store, owner, output, signal)
    await store.write(owner, credential, signal)
    return there
  })
  try {
    await changeProfile(directories, plan, owner.id, ({ storage: _, credential_command: __, ...kept }) => ({
      ...kept,
      ...(storage === 'file' ? { storage } : {}),
      credential: { origin, storage },
    }))
  } catch (error) {
    await withCredentialLock(directories, owner, undefined, async () => {
      await (replaced ? store.write(owner, replaced) : store.delete(owner))
    }).catch(() => {})
    throw error
  }
  return replaced ? [{ origin, credential: replaced }] : []
}

/** Stores the command that obtains the credential of the profile. @throws Failure `storage`, `config`, `conflict` */
export async function storeCommand(
  { configuration, directories }: Context,
  plan: LoginPlan,
  command: string,
): Promise<void> {
  const id = profileId(configuration, plan.connection.profile)
  await changeProfile(directories, plan, id, ({ credential: _, ...kept }) => ({
    ...kept,
    credential_command: command,
  }))
}

/**
 * Stores the options of a sign-in in its profile. The first profile becomes the default.
 * @param id of the profile when the sign-in began. If the name has another ID now, the credential of the sign-in would
 *   belong to another profile.
 * @throws Failure `storage`, `config`, `conflict`
 */
async function changeProfile(
  directories: Directories,
  { connection: { profile, baseUrl }, settings }: LoginPlan,
  id: string,
  change: (before: Profile) => Profile,
): Promise<void> {
  await changeConfiguration(directories, (now) => {
    if (profileId(now, profile) !== id) {
      throw new Failure('conflict', `Profile "${profile}" is not the one that the sign-in began with`, {
        hint: 'A profile was renamed or removed in the meantime. Sign in again.',
      })
    }
    const known = forAuthorizationServer(settings.auth_url, now.profiles?.[profile] ?? {})
    const changed = withProfile(now, profile, { ...change(known), ...settings, base_url: baseUrl })
    const names = Object.keys(changed.profiles ?? {})
    const isFirst = names.every((name) => name === profile || name === localProfile)
    const standard = now.default_profile ?? (isFirst ? profile : undefined)
    if (standard === undefined) return changed
    const isThere = standard === localProfile || names.includes(standard)
    return { ...changed, default_profile: isThere ? standard : profile }
  })
}

/**
 * Deletes the earlier credential of a profile if it is for another address, or in the other storage. Warns if it
 * cannot be deleted.
 * @returns the deleted credential
 */
export async function deleteFormerCredential(
  { directories, credentials: { stores }, output, signal }: Context,
  { connection, storage }: Pick<LoginPlan, 'connection'> & Pick<CredentialPlace, 'storage'>,
): Promise<Replaced[]> {
  const { profile } = connection
  const place = stores.storedPlaceOf(profile)
  if (!place || isSamePlace(place, { ...connection, storage })) return []
  const owner = stores.ownerOf(profile, place.baseUrl)
  const store = stores.of(place.storage)
  try {
    const credential = await withCredentialLock(directories, owner, signal, async () => {
      const stored = await readToReplace(store, owner, output, signal)
      await store.delete(owner, signal)
      return stored
    })
    return credential ? [{ origin: owner.origin, credential }] : []
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    await output.warn(
      `The credential for ${place.baseUrl} may still be stored: ${error.message}. Delete it with: ${commandLine('auth', 'logout', '--profile', profile, '--base-url', place.baseUrl)}`,
    )
    return []
  }
}
