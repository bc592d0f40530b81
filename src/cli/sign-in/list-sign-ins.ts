import { localProfile, profileNames } from '../../config/resolve-options.ts'
import { Failure } from '../../contract/failure.ts'
import type { Storage } from '../../credentials/credential-store.ts'
import type { StoredCredential } from '../../credentials/stored-credential.ts'
import type { Context } from '../context.ts'
import { ownerOf } from './credential-stores.ts'

/** One profile. Null values are missing or unreadable. */
interface SignInRow {
  profile: string
  origin: string | null
  kind: StoredCredential['kind'] | null
  storage: Storage | 'command' | null
  expires_at: string | null
  default: boolean
}

/** Failures of the whole keychain, rather than of one item. */
const gone: ReadonlySet<string> = new Set(['keychain_locked', 'keychain_unavailable', 'keychain_timeout'])

/** All profiles. Unreadable credentials give one warning, because the keychain is usually the reason for all. */
export async function listSignIns(context: Context): Promise<SignInRow[]> {
  const { configuration, output } = context
  const rows: SignInRow[] = []
  const failures: Failure[] = []
  for (const profile of profileNames(configuration)) {
    // A locked or unavailable keychain is tried once, not once for each profile.
    const isKeychainGone = failures.some(({ code }) => gone.has(code))
    const row = await readRow(context, profile, isKeychainGone).catch((error: unknown) => {
      if (!(error instanceof Failure)) throw error
      failures.push(error)
      return emptyRow(context, profile)
    })
    rows.push(row)
  }
  const [first] = failures
  if (first) await output.warn(`Some credentials could not be read: ${first.message}`)
  return rows
}

async function readRow(context: Context, profile: string, isKeychainGone: boolean): Promise<SignInRow> {
  const row = emptyRow(context, profile)
  const baseUrl = addressOf(context, profile)
  if (baseUrl === undefined) return row
  if (context.configuration.profiles?.[profile]?.credential_command !== undefined) {
    return { ...row, storage: 'command' }
  }
  const owner = ownerOf(profile, baseUrl)
  const store = context.stores.ofProfile(profile)
  const isLost = isKeychainGone && store.storage === 'keychain'
  const stored = isLost ? undefined : await store.read(owner, context.signal)
  if (!stored) return row
  const expires = stored.kind === 'oauth' ? (stored.expires_at ?? null) : null
  return { ...row, kind: stored.kind, storage: store.storage, expires_at: expires }
}

function emptyRow(context: Context, profile: string): SignInRow {
  const isDefault = profile === (context.configuration.default_profile ?? localProfile)
  const baseUrl = addressOf(context, profile)
  const origin = baseUrl !== undefined && URL.canParse(baseUrl) ? new URL(baseUrl).origin : null
  return { profile, origin, kind: null, storage: null, expires_at: null, default: isDefault }
}

function addressOf({ configuration }: Context, profile: string): string | undefined {
  return profile === localProfile ? undefined : configuration.profiles?.[profile]?.base_url
}
