import { changeConfiguration, type Profile } from '../../config/configuration-file.ts'
import { forAuthorizationServer, localProfile } from '../../config/resolve-options.ts'
import { withCredentialLock } from '../../credentials/credential-lock.ts'
import type { CredentialOwner } from '../../credentials/credential-store.ts'
import type { StoredCredential } from '../../credentials/stored-credential.ts'
import { Failure } from '../../failure.ts'
import type { Context } from '../create-context.ts'
import { ownerOf, unreadableAsNothing } from './credential-stores.ts'
import type { LoginPlan } from './plan-login.ts'

/**
 * Keeps a credential that has proved itself, and what the profile has to know from now on. What the
 * profile had before, at another address or in another place, is gone afterwards.
 *
 * @throws Failure where either cannot be kept; neither is then
 */
export async function keepLogin(
  { stores, configuration, output, signal }: Context,
  { connection, storage, settings }: LoginPlan,
  credential: StoredCredential,
): Promise<void> {
  const { profile, baseUrl } = connection
  const owner = ownerOf(profile, baseUrl)
  const store = stores.of(storage)
  // A renewal that is under way would put the old one back.
  const replaced = await withCredentialLock(owner, signal, async () => {
    const there = await store.read(owner, signal).catch(unreadableAsNothing)
    await store.write(owner, credential, signal)
    return there
  })
  try {
    await changeConfiguration((now) => {
      const { storage: _, ...before } = forAuthorizationServer(
        settings.auth_url,
        now.profiles?.[profile] ?? {},
      )
      const kept: Profile = {
        ...before,
        ...settings,
        base_url: baseUrl,
        ...(storage === 'file' ? { storage } : {}),
      }
      const profiles = { ...now.profiles, [profile]: kept }
      const isFirst = Object.keys(profiles).every((name) => name === profile || name === localProfile)
      const standard = now.default_profile ?? (isFirst ? profile : undefined)
      const isThere = standard === localProfile || (standard && Object.hasOwn(profiles, standard))
      return { ...now, ...(standard && { default_profile: isThere ? standard : profile }), profiles }
    })
  } catch (error) {
    await withCredentialLock(owner, undefined, async () => {
      await (replaced ? store.write(owner, replaced) : store.delete(owner))
    }).catch(() => {})
    throw error
  }
  const before = configuration.profiles?.[profile]
  for (const old of formerPlaces(profile, before, owner, storage)) {
    await withCredentialLock(old.owner, signal, () => stores.of(old.storage).delete(old.owner, signal)).catch(
      async (error: unknown) => {
        if (!(error instanceof Failure)) throw error
        // Where there is no keychain, nothing was ever in it.
        if (error.code === 'keychain_unavailable') return
        await output.warn(`What was kept for ${old.owner.origin} is still there: ${error.message}`)
      },
    )
  }
}

function formerPlaces(
  profile: string,
  before: Profile | undefined,
  owner: CredentialOwner,
  storage: LoginPlan['storage'],
) {
  if (before?.base_url === undefined) return []
  const old = { owner: ownerOf(profile, before.base_url), storage: before.storage ?? 'keychain' } as const
  return old.owner.origin === owner.origin && old.storage === storage ? [] : [old]
}
