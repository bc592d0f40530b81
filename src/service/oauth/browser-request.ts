import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type Provider from 'oidc-provider'
import type { Page } from '../../pages/page.ts'
import type { Clock } from '../../system/clock.ts'
import type { Database } from '../store/tables.ts'
import type { SecondFactorCipher } from './second-factor-cipher.ts'
import type { SignInRateLimit } from './sign-in-rate-limit.ts'

/** What answers the pages of the sign-in, for as long as the service runs. */
export interface OAuthServer {
  db: Database
  /** Protects the secrets of second factors. */
  cipher: SecondFactorCipher
  provider: Provider
  /** An origin: what browsers see. */
  issuer: string
  /** Makes the tokens of forms. */
  formKey: string
  /** Limits how fast sign-ins are begun. */
  startLimit: SignInRateLimit
  /** Removes what has expired, now and then. */
  removeExpired(): void
  clock: Clock
}

/** One request of a browser. */
export interface BrowserRequest {
  request: IncomingMessage
  response: ServerResponse
  url: URL
  /** The client's network address; a person recognizes their sessions by it. */
  address: string
  /** The client's User-Agent. */
  agent: string
}

/** A request that is answered with a page that says why not. */
export class PageError extends Error {
  readonly status: number
  readonly title: string
  constructor(status: number, title: string, sentence: string) {
    super(sentence)
    this.status = status
    this.title = title
  }
}

/** What of a form is taken, in bytes: a password of 1,024 characters, each in three bytes, and the rest. */
const maxFormBytes = 16_384

/**
 * The fields of a form that one of our pages sent.
 * @param secret what the browser's cookie stands for, which made the form's token
 * @throws Unwelcome for what another site may have had the browser send
 */
export async function readForm({ formKey, issuer }: OAuthServer, visit: BrowserRequest, secret: string) {
  const { headers } = visit.request
  if (headers['content-type']?.split(';', 1)[0]?.trim() !== 'application/x-www-form-urlencoded') {
    throw new PageError(415, 'Not a form', 'The request does not come from a page of this service.')
  }
  const site = headers['sec-fetch-site']
  const isForeign =
    headers.origin !== undefined ? headers.origin !== issuer : (site ?? 'same-origin') !== 'same-origin'
  const form = new URLSearchParams(await readBody(visit.request))
  if (isForeign || !isSame(form.get('token') ?? '', formToken(formKey, secret))) {
    throw new PageError(403, 'This form is not valid here', 'Go back, reload the page, and try again.')
  }
  return form
}

/** What a form carries so that no other site can send it. */
export const formToken = (formKey: string, secret: string): string =>
  createHmac('sha256', formKey).update(secret).digest('base64url')

function isSame(given: string, wanted: string): boolean {
  return given.length === wanted.length && timingSafeEqual(Buffer.from(given), Buffer.from(wanted))
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  try {
    for await (const chunk of request) {
      length += chunk.length
      if (length > maxFormBytes)
        throw new PageError(413, 'The form is too large', 'Go back and shorten the text.')
      chunks.push(chunk)
    }
  } catch (error) {
    // Who goes away in the middle is no trouble of the service: there is nothing to log.
    if (error instanceof PageError || request.complete) throw error
    throw new PageError(400, 'The form did not arrive completely', 'Go back and send it again.')
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Headers that were set before, cookies among them, are kept. */
export function sendPage(response: ServerResponse, { status, headers, body }: Page): void {
  response.writeHead(status, headers).end(body)
}

/** 303: whatever was sent, what comes next is a GET (RFC 9110 section 15.4.4). */
export function redirect(response: ServerResponse, location: string): void {
  response.writeHead(303, { location, 'cache-control': 'no-store', 'content-length': '0' }).end()
}
