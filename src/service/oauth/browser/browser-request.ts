import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import type Provider from 'oidc-provider'
import type { HtmlPage } from '../../../pages/page.ts'
import type { Clock } from '../../../system/clock.ts'
import type { Database } from '../../store/tables.ts'
import type { SecondFactorCipher } from '../second-factor-cipher.ts'
import type { TokenBuckets } from '../token-buckets.ts'

/** What the pages of the OAuth server share while the service runs. */
export interface OAuthServer {
  db: Database
  /** Protects the secrets of second factors. */
  cipher: SecondFactorCipher
  provider: Provider
  /** The origin that browsers use. */
  issuer: string
  /** @throws ApiError `storage_migrated` */
  checkSchema(): Promise<void>
  /** Signs the tokens of forms. */
  formKey: string
  /** Limits how fast sign-ins begin. */
  startLimit: TokenBuckets
  /** Whether a program on another device may have the scope `admin`. */
  allowsDeviceAdmin: boolean
  /** Removes expired records, at most every 10 minutes. */
  removeExpired(): void
  clock: Clock
}

export interface BrowserRequest {
  request: IncomingMessage
  response: ServerResponse
  url: URL
  /** The client's network address; a user recognizes their sessions by it. */
  address: string
  /** The client's User-Agent. */
  agent: string
}

export interface PageRequest {
  server: OAuthServer
  visit: BrowserRequest
}

export class PageError extends Error {
  readonly status: number
  readonly title: string
  constructor(status: number, title: string, sentence: string) {
    super(sentence)
    this.status = status
    this.title = title
  }
}

/** In bytes: enough for a password of 1,024 characters of three bytes each, and the other fields. */
const maxFormBytes = 16_384

/**
 * The fields of a form that a page of this service sent.
 * @param secret the value behind the browser's cookie that the token of the form was made with
 * @throws Unwelcome for what another site may have had the browser send
 */
export async function readForm({ server: { formKey, issuer }, visit }: PageRequest, secret: string) {
  const { headers } = visit.request
  if (headers['content-type']?.split(';', 1)[0]?.trim() !== 'application/x-www-form-urlencoded') {
    throw new PageError(415, 'Not a form', 'The request does not come from a page of this service.')
  }
  const form = new URLSearchParams(await readBody(visit.request))
  const site = headers['sec-fetch-site']
  const isForeign =
    headers.origin !== undefined ? headers.origin !== issuer : (site ?? 'same-origin') !== 'same-origin'
  if (isForeign || !isSame(form.get('token') ?? '', formToken(formKey, secret))) {
    throw new PageError(403, 'This form is not valid here', 'Go back, reload the page, and try again.')
  }
  return form
}

/** The token of a form, so that no other site can make a browser send it. */
export const formToken = (formKey: string, secret: string): string =>
  createHmac('sha256', formKey).update(secret).digest('base64url')

function isSame(given: string, wanted: string): boolean {
  return given.length === wanted.length && timingSafeEqual(Buffer.from(given), Buffer.from(wanted))
}

async function readBody(request: IncomingMessage): Promise<string> {
  try {
    const tooLarge = new PageError(413, 'The form is too large', 'Go back and shorten the text.')
    return (await readLimited(request, maxFormBytes, tooLarge)).toString('utf8')
  } catch (error) {
    // A client that disconnects is not an error of the service, so it is not logged.
    if (error instanceof PageError || request.complete) throw error
    throw new PageError(400, 'The form did not arrive completely', 'Go back and send it again.')
  }
}

/** @throws `tooLarge` for more bytes than the maximum; the stream is not destroyed then */
export async function readLimited(stream: Readable, maxBytes: number, tooLarge: Error): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
    length += chunk.length
    if (length > maxBytes) throw tooLarge
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Keeps headers that were set before, such as cookies. */
export function sendPage(response: ServerResponse, { status, headers, body }: HtmlPage): void {
  response.writeHead(status, headers).end(body)
}

/** 303: the next request is a GET (RFC 9110 section 15.4.4). */
export function redirect(response: ServerResponse, location: string): void {
  response.writeHead(303, { location, 'cache-control': 'no-store', 'content-length': '0' }).end()
}
