import { randomBytes } from 'node:crypto'
import { carriesCookie, isSame } from './callback.ts'

/** A request for the start page. */
export interface StartPageRequest {
  cookies: string | undefined
  /** The user at the other end of the connection, as `findPeerUser` returns it. */
  user: number | undefined
}

/** The response: only the first browser is redirected. */
export type Welcome =
  | { kind: 'redirected'; cookie: string }
  | { kind: 'other-browser' }
  | { kind: 'other-user' }

/**
 * Binds a sign-in to the browser that opens its start page first. Other users of the machine see
 * the address of that page in the list of processes, and with it could sign the victim in to their
 * own account (RFC 6749 section 10.12, RFC 9700 section 4.7). So the state is not in that address,
 * the page works for one browser, and the callback needs the cookie that this browser got.
 */
export class FirstBrowser {
  /** Below the path of the callback, so that a cookie without Path is sent with it (RFC 6265 section 5.1.4). */
  readonly startPath: string
  /** `name=value`. Cookies know no port, so the name has it: two sign-ins do not replace each other's. */
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

  welcome({ cookies, user }: StartPageRequest): Welcome {
    const own = process.getuid?.()
    if (user !== undefined && user !== own && user !== 0) return { kind: 'other-user' }
    if (this.#isRedirected && !carriesCookie(cookies, this.cookie)) return { kind: 'other-browser' }
    this.#isRedirected = true
    // Lax: the browser comes back from another site.
    return { kind: 'redirected', cookie: `${this.cookie}; HttpOnly; SameSite=Lax` }
  }
}

function randomSecret(): string {
  return randomBytes(32).toString('base64url')
}
