import type { Storage } from '../../auth/credentials/credential-store.ts'
import { isOfWholeKeychain } from '../../auth/credentials/keychain-failure.ts'
import type { StoredCredential } from '../../auth/credentials/stored-credential.ts'
import type { Context } from '../../cli/context/context.ts'
import { isSamePlace } from '../../cli/credential/credential-stores.ts'
import { LocalCommand } from '../../cli/local-command.ts'
import { localProfile, profileNames } from '../../config/resolve-options.ts'
import { Failure } from '../../contract/failure.ts'
import { signInsView } from '../../view/auth.ts'

export default class AuthList extends LocalCommand {
  static override summary = 'List profiles and their credentials'
  static override view = signInsView
  static override examples = LocalCommand.toExamples({
    'List the profiles': 'chatctl auth list',
    'List them as JSON': 'chatctl auth list --json',
    'Print only the names': 'chatctl auth list --fields profile',
  })

  // If the default profile does not exist, this command shows which ones do.
  protected override readonly mayNameNewProfile = true

  async run(): Promise<void> {
    const { context } = await this.start(AuthList)
    await context.output.show(signInsView, await listSignIns(context))
    noticeDirectory(context)
  }
}

/** One profile. Null values are missing or unreadable. */
interface SignInRow {
  profile: string
  origin: string | null
  kind: StoredCredential['kind'] | null
  storage: Storage | 'command' | null
  expires_at: string | null
  default: boolean
  /** Where it is used without being named. */
  directories: string[]
}

/** All profiles. Unreadable credentials give one warning, because the keychain is usually the reason for all. */
async function listSignIns(context: Context): Promise<SignInRow[]> {
  const { configuration, output } = context
  const rows: SignInRow[] = []
  const failures: Failure[] = []
  for (const profile of profileNames(configuration)) {
    // A locked or unavailable keychain is tried once, not once for each profile.
    const isKeychainGone = failures.some(isOfWholeKeychain)
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

/** Says which profile the working directory selects, so that the default profile does not apply. */
export function noticeDirectory({ options: { profile }, output }: Context): void {
  if (profile.source !== 'directory') return
  output.notice(`Here, the profile is "${profile.value}", because of ${profile.from}.`)
}

async function readRow(context: Context, profile: string, isKeychainGone: boolean): Promise<SignInRow> {
  const row = emptyRow(context, profile)
  const baseUrl = addressOf(context, profile)
  if (baseUrl === undefined) return row
  const places = context.credentials.stores.placesOf(profile)
  const place = places.find((one) => isSamePlace(one, { ...one, baseUrl }))
  if (!place) return row
  if (place.storage === 'command') return { ...row, storage: 'command' }
  const owner = context.credentials.stores.ownerOf(profile, baseUrl)
  const store = context.credentials.stores.of(place.storage)
  const isLost = isKeychainGone && store.storage === 'keychain'
  const stored = isLost ? undefined : await store.read(owner, context.signal)
  if (!stored) return row
  return { ...row, kind: stored.kind, storage: store.storage, expires_at: stored.expires_at ?? null }
}

function emptyRow(context: Context, profile: string): SignInRow {
  const isDefault = profile === (context.configuration.default_profile ?? localProfile)
  const baseUrl = addressOf(context, profile)
  const origin = baseUrl !== undefined && URL.canParse(baseUrl) ? new URL(baseUrl).origin : null
  const directories = Object.entries(context.configuration.directories ?? {})
    .filter(([, name]) => name === profile)
    .map(([directory]) => directory)
  return { profile, origin, kind: null, storage: null, expires_at: null, default: isDefault, directories }
}

function addressOf({ configuration }: Context, profile: string): string | undefined {
  return profile === localProfile ? undefined : configuration.profiles?.[profile]?.base_url
}
