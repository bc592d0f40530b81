import { createLocalJWKSet, type JSONWebKeySet } from 'jose'
import { isRecord, tryParse } from '../../../contract/notation/exact-json.ts'
import type { Clock } from '../../../system/clock.ts'
import { type FetchOptions, fetchText } from '../../../system/network/fetch-text.ts'
import { isSafeIssuerUrl } from '../../domain/access/check-requests.ts'

/** The keys of an issuer cannot be read, so its tokens cannot be checked at this time. */
export class UnreadableKeys extends Error {}

/** Finds the key of a token. */
export type IssuerKeySet = ReturnType<typeof createLocalJWKSet>

/** Maximum size of a document of an issuer, and maximum number of its keys. */
const maxKibibytes = 64
const maxKeys = 100

/** How long keys are used, in ms: usually, if a token names an unknown one, and after they could not be read. */
const lifetimes = { usual: 10 * 60_000, unknownKey: 60_000, failed: 5_000 }

/** How long, in ms, an issuer may take to send a document. */
const defaultTimeout = 5_000

type Reach = Pick<FetchOptions, 'env' | 'timeout'>

interface Reading {
  /** Time of the monotonic clock. */
  at: number
  keys: Promise<IssuerKeySet>
  hasFailed: boolean
}

/** The public keys of issuers (OpenID Connect Discovery). Kept in the memory of the process. */
export class IssuerKeys {
  readonly #clock: Clock
  readonly #reach: Reach
  readonly #readings = new Map<string, Reading>()
  /** Those for an unknown key. Anyone can send a token that names one, so they replace others only if they succeed. */
  readonly #renewals = new Map<string, Reading>()

  /** @param env names a proxy */
  constructor(clock: Clock, env?: NodeJS.ProcessEnv, timeout = defaultTimeout) {
    this.#clock = clock
    this.#reach = { env, timeout }
  }

  /**
   * @param isKeyUnknown whether the known keys lack the key of a token, because the issuer may have a new one
   * @throws UnreadableKeys
   */
  find(issuer: string, isKeyUnknown = false): Promise<IssuerKeySet> {
    const known = this.#readings.get(issuer)
    if (!isKeyUnknown) return (this.#fresh(known, lifetimes.usual) ?? this.#read(issuer, this.#readings)).keys
    const { unknownKey } = lifetimes
    const current = this.#fresh(known, unknownKey) ?? this.#fresh(this.#renewals.get(issuer), unknownKey)
    if (current) return current.keys
    const renewal = this.#read(issuer, this.#renewals)
    return renewal.keys.then((keys) => {
      this.#readings.set(issuer, renewal)
      return keys
    })
  }

  #fresh(reading: Reading | undefined, lifetime: number): Reading | undefined {
    if (!reading) return undefined
    const age = this.#clock.monotonic() - reading.at
    return age < (reading.hasFailed ? lifetimes.failed : lifetime) ? reading : undefined
  }

  #read(issuer: string, readings: Map<string, Reading>): Reading {
    const keys = readKeys(issuer, this.#reach)
    const reading: Reading = { at: this.#clock.monotonic(), keys, hasFailed: false }
    keys.catch(() => {
      reading.hasFailed = true
    })
    readings.set(issuer, reading)
    return reading
  }
}

async function readKeys(issuer: string, reach: Reach): Promise<IssuerKeySet> {
  // OpenID Connect Discovery section 4.1.
  const address = new URL(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`)
  const metadata = await readObject(address, reach)
  if (metadata['issuer'] !== issuer) throw new UnreadableKeys(`${address} is of another issuer`)
  const keysAddress = readAddress(metadata['jwks_uri'], address)
  const { keys } = await readObject(keysAddress, reach)
  if (!Array.isArray(keys) || keys.length > maxKeys) {
    throw new UnreadableKeys(`${keysAddress} does not have a list of at most ${maxKeys} keys`)
  }
  try {
    return createLocalJWKSet({ keys } as JSONWebKeySet)
  } catch {
    throw new UnreadableKeys(`${keysAddress} does not have a list of keys`)
  }
}

/** Only an issuer on this machine may have its keys at a plain HTTP address. */
function readAddress(text: unknown, metadataAddress: URL): URL {
  const url = typeof text === 'string' && URL.canParse(text) ? new URL(text) : undefined
  if (url && isSafeIssuerUrl(url) && (url.protocol === 'https:' || metadataAddress.protocol === 'http:')) {
    return url
  }
  throw new UnreadableKeys(`${metadataAddress} does not have a jwks_uri that may be read`)
}

/** @throws UnreadableKeys */
async function readObject(url: URL, reach: Reach): Promise<Record<string, unknown>> {
  const headers = { accept: 'application/json' }
  const { status, text } = await fetchText(url, { ...reach, headers, maxSize: maxKibibytes }).catch(
    (error: Error) => {
      throw new UnreadableKeys(error.message, { cause: error.cause })
    },
  )
  if (status !== 200) throw new UnreadableKeys(`${url} responds with status ${status}`)
  const value = tryParse(text)
  if (isRecord(value)) return value
  throw new UnreadableKeys(`${url} does not respond with a JSON object`)
}
