import { randomBytes } from 'node:crypto'
import { hasCookie, isSame } from './check-callback.ts'

/** A request for the start page. */
export interface StartPageRequest {
  cookies: string | undefined
  /** The user at the other end of the connection, as `findPeerUser` returns it. */
  user: number | undefined
}

/** Only the first browser is redirected. */
export type StartPageResult =
  | { kind: 'redirected'; cookie: string }
  | { kind: 'other-browser' }
  | { kind: 'other-user' }

/**
 * Binds a sign-in to the browser that opens its start page first. Other users of the machine can see the address
 * of that page in the list of processes, and could use it to sign the user in to their own account (RFC 6749
 * section 10.12, RFC 9700 section 4.7). So this address does not contain the state, the page works for one browser
 * only, and the callback needs the cookie of this browser.
 */
export class FirstBrowser {
  /** Below the path of the callback, so that a cookie without Path is sent with it (RFC 6265 section 5.1.4). */
  readonly startPath: string
  /** `name=value`. Cookies are shared between ports, so the name contains the port to separate sign-ins. */
  readonly cookie: string
  #isRedirected = false

  constructor(callbackPath: string, port: number) {
    this.startPath = `${callbackPath.replace(/\/$/, '')}/${randomSecret()}`
    this.cookie = `chatctl-sign-in-${port}=${randomSecret()}`
  }

  /** Whether a browser was redirected already. */
  get isRedirected(): boolean {
    return this.#isRedirected
  }

  isStartPage(target: string): boolean {
    return isSame(target, this.startPath)
  }

  open({ cookies, user }: StartPageRequest): StartPageResult {
    const own = process.getuid?.()
    if (user !== undefined && user !== own && user !== 0) return { kind: 'other-user' }
    if (this.#isRedirected && !hasCookie(cookies, this.cookie)) return { kind: 'other-browser' }
    this.#isRedirected = true
    // Lax, because another site redirects the browser to the callback.
    return { kind: 'redirected', cookie: `${this.cookie}; HttpOnly; SameSite=Lax` }
  }
}

function randomSecret(): string {
  return randomBytes(32).toString('base64url')
}
