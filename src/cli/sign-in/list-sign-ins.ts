import { localProfile, profileNames } from '../../config/resolve-options.ts'
import type { Storage } from '../../credentials/credential-store.ts'
import type { StoredCredential } from '../../credentials/stored-credential.ts'
import { Failure } from '../../failure.ts'
import type { Context } from '../create-context.ts'
import { ownerOf } from './credential-stores.ts'

/** One profile; null where there is nothing, or it cannot be known. */
interface SignInRow {
  profile: string
  origin: string | null
  kind: StoredCredential['kind'] | null
  storage: Storage | null
  expires_at: string | null
  default: boolean
}

/** What the keychain says that has nothing to do with one item of it. */
const gone: ReadonlySet<string> = new Set(['keychain_locked', 'keychain_unavailable', 'keychain_timeout'])

/** All profiles. What cannot be read is left open and warned of once, for it is mostly one keychain. */
export async function listSignIns(context: Context): Promise<SignInRow[]> {
  const { configuration, output, stores, signal } = context
  const standard = configuration.default_profile ?? localProfile
  const rows: SignInRow[] = []
  let failure: Failure | undefined
  let isKeychainGone = false
  for (const profile of profileNames(configuration)) {
    const baseUrl = profile === localProfile ? undefined : configuration.profiles?.[profile]?.base_url
    const row = {
      profile,
      origin: null,
      kind: null,
      storage: null,
      expires_at: null,
      default: profile === standard,
    }
    if (baseUrl === undefined) {
      rows.push(row)
      continue
    }
    const owner = ownerOf(profile, baseUrl)
    const store = stores.ofProfile(profile)
    // A keychain that is locked or gone is asked once, not once for each profile.
    const stored =
      isKeychainGone && store.storage === 'keychain'
        ? undefined
        : await store.read(owner, signal).catch((error: unknown) => {
            if (!(error instanceof Failure)) throw error
            failure ??= error
            isKeychainGone ||= gone.has(error.code)
            return undefined
          })
    rows.push({
      ...row,
      origin: owner.origin,
      kind: stored?.kind ?? null,
      storage: stored ? store.storage : null,
      expires_at: stored?.kind === 'oauth' ? (stored.expires_at ?? null) : null,
    })
  }
  if (failure) await output.warn(`Not everything could be read: ${failure.message}`)
  return rows
}
