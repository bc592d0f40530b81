import { randomBytes } from 'node:crypto'
import { carriesCookie, isSame } from './callback.ts'

/** A request for the start page. */
export interface Visit {
  cookies: string | undefined
  /** The user at the other end of the connection, where the system says so. */
  user: number | undefined
}

/** What becomes of it: only the first browser is led on. */
export type Welcome = { kind: 'led'; cookie: string } | { kind: 'other-browser' } | { kind: 'other-user' }

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
  #isLed = false

  constructor(callbackPath: string, port: number) {
    this.startPath = `${callbackPath.replace(/\/$/, '')}/${randomSecret()}`
    this.cookie = `chatctl-sign-in-${port}=${randomSecret()}`
  }

  /** Whether a browser was led on already. */
  get isLed(): boolean {
    return this.#isLed
  }

  isStartPage(target: string): boolean {
    return isSame(target, this.startPath)
  }

  welcome({ cookies, user }: Visit): Welcome {
    const own = process.getuid?.()
    if (user !== undefined && user !== own && user !== 0) return { kind: 'other-user' }
    if (this.#isLed && !carriesCookie(cookies, this.cookie)) return { kind: 'other-browser' }
    this.#isLed = true
    // Lax: the browser comes back from another site.
    return { kind: 'led', cookie: `${this.cookie}; HttpOnly; SameSite=Lax` }
  }
}

function randomSecret(): string {
  return randomBytes(32).toString('base64url')
}
