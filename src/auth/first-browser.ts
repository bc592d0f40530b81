import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { orElse } from '../contract/or-else.ts'
import { hasCookie, isSame } from './check-callback.ts'

/**
 * Binds a sign-in to the browser that opens its start page first. Other users of the machine can see the address
 * of that page in the list of processes, and could use it to sign the user in as another user (RFC 6749
 * section 10.12, RFC 9700 section 4.7). So this address does not contain the state, the page works for one browser
 * only, and the callback needs the cookie of this browser.
 */
export class FirstBrowser {
  /** Below the path of the callback, so that a cookie without Path is sent with it (RFC 6265 section 5.1.4). */
  readonly startPath: string
  /** `name=value`. Cookies are shared between ports, so the name contains the port to separate sign-ins. */
  readonly cookie: string
  /** Whether a browser was redirected already. */
  isRedirected = false

  constructor(callbackPath: string, port: number) {
    this.startPath = `${callbackPath.replace(/\/$/, '')}/${randomSecret()}`
    this.cookie = `chatctl-sign-in-${port}=${randomSecret()}`
  }

  isStartPage(target: string): boolean {
    return isSame(target, this.startPath)
  }

  /**
   * Opens the start page.
   * @param user at the other end of the connection, as `findPeerUser` returns it
   * @returns the cookie for the first browser, or what the request came from instead
   */
  open(
    cookies: string | undefined,
    user: number | undefined,
  ): { cookie: string } | 'other-browser' | 'other-user' {
    const own = process.getuid?.()
    if (user !== undefined && user !== own && user !== 0) return 'other-user'
    if (this.isRedirected && !hasCookie(cookies, this.cookie)) return 'other-browser'
    this.isRedirected = true
    // Lax, because another site redirects the browser to the callback.
    return { cookie: `${this.cookie}; HttpOnly; SameSite=Lax` }
  }
}

function randomSecret(): string {
  return randomBytes(32).toString('base64url')
}

/**
 * The user ID of the program at the other end of a loopback connection; -1 if the program has closed it. From
 * `/proc/net/tcp` of Linux (proc(5)).
 * @returns undefined on other systems, or if the connection is not listed
 */
export function findPeerUser({ remoteAddress, remotePort, localPort }: Socket): number | undefined {
  const address = addresses[remoteAddress ?? '']
  if (process.platform !== 'linux' || !address || !remotePort || !localPort) return undefined
  const port = toHex(localPort)
  for (const [table, host] of Object.entries(address)) {
    const [from, to] = [`${host}:${toHex(remotePort)}`, `${host}:${port}`]
    for (const row of readRows(table)) {
      const [, local, remote, , , , , user, , inode] = row.trim().split(/\s+/)
      // In any state, because a program that has closed its half of the connection can still read.
      if (local === from && remote === to) return inode === '0' ? noUser : Number(user)
    }
  }
  return undefined
}

/** A socket without a program is listed as owned by root, without an inode. */
const noUser = -1

/** The notation of loopback addresses in each table. An IPv6 socket may have an IPv4 connection. */
const addresses: Record<string, Record<string, string>> = {
  '127.0.0.1': { tcp: '0100007F', tcp6: '0000000000000000FFFF00000100007F' },
  '::1': { tcp6: '00000000000000000000000001000000' },
}

function toHex(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, '0')
}

function readRows(table: string): string[] {
  return orElse(() => readFileSync(`/proc/net/${table}`, 'latin1').split('\n'), [])
}
