import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AdapterPayload } from 'oidc-provider'
import type { Clock } from '../../../system/clock.ts'
import { convertTimes, providerNow } from '../lifetimes.ts'
import { paths } from '../metadata.ts'
import type { BrowserRequest } from './browser-request.ts'

/**
 * Keeps anonymous interactions: those in which no user has signed in yet. Each is a signed cookie of the
 * browser, so that an anonymous request stores nothing and any process can continue it. Once the
 * password is correct, an interaction is a record in the database, which a reset can end.
 */
export class BrowserInteractions {
  readonly #key: string
  readonly #name: string
  readonly #attributes: string
  readonly #clock: Clock

  /** @param isSecure whether the issuer uses https */
  constructor(key: string, name: string, isSecure: boolean, clock: Clock) {
    this.#clock = clock
    this.#key = key
    this.#name = name
    this.#attributes = `; samesite=lax${isSecure ? '; secure' : ''}; httponly`
  }

  write(id: string, payload: AdapterPayload, { response }: BrowserRequest): void {
    const { prompt } = payload as { prompt?: { name: string } }
    // The details of a prompt repeat parameters and are not used.
    const kept: AdapterPayload = {
      ...payload,
      prompt: { name: prompt?.name ?? 'login', reasons: [], details: {} },
    }
    const body = Buffer.from(JSON.stringify(convertTimes(kept, this.#clock, 'in'))).toString('base64url')
    this.#set(response, id, `${body}.${this.#sign(id, body)}`, new Date((payload.exp ?? 0) * 1000))
  }

  read(id: string, { request }: BrowserRequest): AdapterPayload | undefined {
    const [body = '', signature = ''] = this.#cookie(request)?.split('.') ?? []
    const wanted = this.#sign(id, body)
    if (signature.length !== wanted.length) return undefined
    if (!timingSafeEqual(Buffer.from(signature), Buffer.from(wanted))) return undefined
    const stored: AdapterPayload = JSON.parse(Buffer.from(body, 'base64url').toString())
    const payload = convertTimes(stored, this.#clock, 'out')
    return (payload.exp ?? 0) > providerNow() ? payload : undefined
  }

  /** Removes it from the browser: the interaction is now a record, or it has ended. */
  remove(id: string, { request, response }: BrowserRequest): void {
    if (this.#cookie(request) !== undefined) this.#set(response, id, '', new Date(0))
  }

  #set(response: ServerResponse, id: string, value: string, expires: Date): void {
    const path = `${paths.signIn}/${id}`
    const line = `${this.#name}=${value}; path=${path}; expires=${expires.toUTCString()}${this.#attributes}`
    response.appendHeader('set-cookie', line)
  }

  #cookie({ headers }: IncomingMessage): string | undefined {
    const pairs = headers.cookie?.split(/; */) ?? []
    return pairs.find((pair) => pair.startsWith(`${this.#name}=`))?.slice(this.#name.length + 1)
  }

  #sign = (id: string, body: string) =>
    createHmac('sha256', this.#key).update(`interaction ${id} ${body}`).digest('base64url')
}

/** Whether no user has signed in to an interaction yet. */
export function isAnonymous({ session, result }: AdapterPayload): boolean {
  return session === undefined && result === undefined
}
