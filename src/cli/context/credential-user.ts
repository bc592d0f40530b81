import { join } from 'node:path'
import type { Client } from '../../client/client.ts'
import { profileId } from '../../config/configuration-file.ts'
import { readBaseUrl } from '../../contract/base-url.ts'
import { Failure } from '../../contract/failure.ts'
import { changeRecord, readRecord } from '../../system/files/json-record.ts'
import { fetchAccount } from '../credential/credential-in-use.ts'
import type { BaseContext } from './base-context.ts'
import type { Credentials } from './credentials.ts'
import type { Target } from './target.ts'

/** What this machine knows of a credential. Null if neither the service nor the token tells the user. */
interface KnownUser {
  user: string | null
  /** ISO 8601. */
  at: string
}

/** A service that did not tell the user is not asked again for this time, in ms. */
const untoldFor = 86_400_000

/** Access tokens change, so only the newest are kept. */
const maxKnown = 200

interface Parts {
  base: BaseContext
  credentials: Credentials
  target: () => Target
  connect: () => Promise<Client>
}

/**
 * The user of the credential in use. The state directory remembers the user of each credential, by a digest of the
 * credential, so that it sends one request for each; and the user of the last credential of each profile.
 */
export class CredentialUser {
  readonly #parts: Parts
  #found: Promise<string | undefined> | undefined

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** As `Run.user`. */
  find(): Promise<string | undefined> {
    this.#found ??= this.#find().catch((error) => {
      this.#found = undefined
      throw error
    })
    return this.#found
  }

  /** As `Run.knownUser`. */
  known(): string | undefined {
    const { base, target } = this.#parts
    const to = target()
    if (to.kind === 'local') return undefined
    const { fromEnvironment, identity, profile, baseUrl } = to
    if (fromEnvironment) return this.#read(keyOf(baseUrl, fromEnvironment.secret))?.user ?? undefined
    if (identity || profile === undefined) return undefined
    return this.#read(profileKey(base, profile, baseUrl))?.user ?? undefined
  }

  /** Called when a profile was signed in. @param user null if it is not known */
  async rememberProfile(profile: string, baseUrl: string, user: string | null): Promise<void> {
    await this.#remember([profileKey(this.#parts.base, profile, baseUrl)], user)
  }

  async #find(): Promise<string | undefined> {
    const { base, credentials, target } = this.#parts
    const to = target()
    if (to.kind === 'local') return undefined
    const { fromEnvironment, identity, profile, baseUrl } = to
    const { secret } = await credentials.usable()
    const key = keyOf(baseUrl, secret)
    const known = this.#read(key)
    const isKnown = known && (known.user !== null || this.#age(known) < untoldFor)
    const told = (await credentials.signedIn()?.stored())?.user?.id
    const user = told ?? (isKnown ? known.user : await this.#ask(secret))
    const isOfProfile = !fromEnvironment && !identity && profile !== undefined
    const keys = [key, ...(isOfProfile ? [profileKey(base, profile, baseUrl)] : [])]
    if (!isKnown || keys.some((each) => this.#read(each)?.user !== user)) await this.#remember(keys, user)
    return user ?? undefined
  }

  /** Some keys may use the chat, but not read the user. Then an access token may name its subject (RFC 9068). */
  async #ask(secret: string): Promise<string | null> {
    const untold = ['forbidden', 'not_found', 'rejected', 'invalid_response']
    try {
      const { user } = await fetchAccount(await this.#parts.connect())
      if (typeof user.id === 'string' && user.id !== '') return user.id
    } catch (error) {
      if (!(error instanceof Failure && untold.includes(error.kind))) throw error
    }
    const { readClaims } = await import('../../auth/exchange-identity.ts')
    return readClaims(secret)?.sub ?? null
  }

  get #path(): string {
    return join(this.#parts.base.directories.state, 'users.json')
  }

  #age({ at }: KnownUser): number {
    return this.#parts.base.host.clock.now() - Date.parse(at)
  }

  #read(key: string): KnownUser | undefined {
    const known = readRecord(this.#path)[key] as Partial<KnownUser> | undefined
    const { user, at } = Object(known)
    return (user === null || typeof user === 'string') && typeof at === 'string' ? { user, at } : undefined
  }

  async #remember(keys: readonly string[], user: string | null): Promise<void> {
    const at = new Date(this.#parts.base.host.clock.now()).toISOString()
    const known = Object.fromEntries(keys.map((key) => [key, { user, at }]))
    // If the directory is not writable, each run asks.
    await changeRecord(this.#path, (before) => {
      const others = Object.entries(before).filter(([key]) => !keys.includes(key))
      return { ...Object.fromEntries(others.slice(-maxKnown)), ...known }
    }).catch(() => {})
  }
}

const profileKey = ({ configuration }: BaseContext, profile: string, baseUrl: string) =>
  keyOf(baseUrl, `profile ${profileId(configuration, profile)}`)

/** A digest, because a file must not contain the credential. No credential contains a space. */
function keyOf(baseUrl: string, credential: string): string {
  const { createHash } = process.getBuiltinModule('node:crypto')
  const { origin } = readBaseUrl(baseUrl)
  return createHash('sha256').update(`${origin} ${credential}`).digest('hex')
}
