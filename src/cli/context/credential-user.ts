import { join } from 'node:path'
import type { Client } from '../../client/client.ts'
import { profileId } from '../../config/configuration-file.ts'
import { readBaseUrl } from '../../contract/base-url.ts'
import { Failure } from '../../contract/failure.ts'
import { changeRecord, readRecord } from '../../system/files/json-record.ts'
import { fetchAccount } from '../credential/credential-in-use.ts'
import type { BaseContext } from './base-context.ts'
import type { Credentials } from './credentials.ts'
import type { RemoteTarget, Target } from './target.ts'

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

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** As `Run.user`. */
  async find(): Promise<string | undefined> {
    const { credentials, target } = this.#parts
    const to = target()
    if (to.kind === 'local') return undefined
    const { secret } = await credentials.usable()
    const keys = [keyOf(to.baseUrl, secret), ...this.#profileKey(to)]
    const told = (await credentials.signedIn()?.stored())?.user?.id
    const user = told ?? this.#read(keys[0]) ?? (await this.#ask(secret))
    if (keys.some((key) => this.#read(key) !== user)) await this.#remember(keys, user)
    return user || undefined
  }

  /** As `Run.knownUser`. */
  known(): string | undefined {
    const to = this.#parts.target()
    if (to.kind === 'local') return undefined
    const { fromEnvironment, baseUrl } = to
    const [key] = fromEnvironment ? [keyOf(baseUrl, fromEnvironment.secret)] : this.#profileKey(to)
    return this.#read(key) || undefined
  }

  /** Called when a profile was signed in. */
  async rememberProfile(profile: string, baseUrl: string, user = ''): Promise<void> {
    await this.#remember(this.#profileKey({ profile, baseUrl }), user)
  }

  /**
   * Some keys may use the chat, but not read the user. Then an access token may name its subject (RFC 9068).
   * @returns an empty text if neither tells the user
   */
  async #ask(secret: string): Promise<string> {
    const untold = ['forbidden', 'not_found', 'rejected', 'invalid_response']
    try {
      const { user } = await fetchAccount(await this.#parts.connect())
      if (typeof user.id === 'string' && user.id !== '') return user.id
    } catch (error) {
      if (!(error instanceof Failure && untold.includes(error.kind))) throw error
    }
    const { readClaims } = await import('../../auth/exchange-identity.ts')
    return readClaims(secret)?.sub ?? ''
  }

  /** @returns an empty text if it is known that the user is not told */
  #read(key = ''): string | undefined {
    const { directories, host } = this.#parts.base
    const { user, at } = Object(readRecord(pathIn(directories))[key])
    const isCurrent = user !== '' || host.clock.now() - Date.parse(at) < untoldFor
    return typeof user === 'string' && isCurrent ? user : undefined
  }

  async #remember(keys: readonly string[], user: string): Promise<void> {
    const { directories, host } = this.#parts.base
    const known = { user, at: new Date(host.clock.now()).toISOString() }
    // If the directory is not writable, each run asks.
    await changeRecord(pathIn(directories), (before) => {
      const others = Object.entries(before).filter(([key]) => !keys.includes(key))
      return Object.fromEntries([...others.slice(-maxKnown), ...keys.map((key) => [key, known])])
    }).catch(() => {})
  }

  /** Of the credential of the profile, if that is in use. */
  #profileKey({
    fromEnvironment,
    identity,
    profile,
    baseUrl,
  }: Pick<RemoteTarget, 'profile' | 'baseUrl'> & Partial<RemoteTarget>): string[] {
    if (fromEnvironment || identity || profile === undefined) return []
    return [keyOf(baseUrl, `profile ${profileId(this.#parts.base.configuration, profile)}`)]
  }
}

const pathIn = ({ state }: BaseContext['directories']): string => join(state, 'users.json')

/** A digest, because a file must not contain the credential. No credential contains a space. */
function keyOf(baseUrl: string, credential: string): string {
  const { createHash } = process.getBuiltinModule('node:crypto')
  const { origin } = readBaseUrl(baseUrl)
  return createHash('sha256').update(`${origin} ${credential}`).digest('hex')
}
