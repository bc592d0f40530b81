import { randomBytes } from 'node:crypto'
import type Provider from 'oidc-provider'
import { sessionLifetime } from '../lifetimes.ts'
import { paths } from '../metadata.ts'
import { digest } from '../records.ts'
import type { PageRequest } from './browser-request.ts'

export type BrowserSession = InstanceType<Provider['Session']>

/** The sign-in session of the browser, or undefined if no user is signed in. */
export async function findSession(page: PageRequest): Promise<BrowserSession | undefined> {
  const session = await page.server.provider.Session.get(contextOf(page))
  return session.accountId === undefined ? undefined : session
}

/** Signs a browser in with a new cookie, against session fixation. @param session default: a new one */
export async function openSession(
  page: PageRequest,
  accountId: string,
  methods: string[],
  session: BrowserSession = new page.server.provider.Session(),
): Promise<BrowserSession> {
  session.loginAccount({ accountId, amr: methods })
  await renewSession(page, session)
  return session
}

/** Restarts the idle time of a session. */
export async function extendSession(page: PageRequest, session: BrowserSession): Promise<void> {
  const life = sessionLifetime(session.loginTs)
  await session.save(life)
  setCookie(page, 'session', { value: session.jti, path: '/', life })
}

/** Gives a session a new cookie, so that a copy of the old one does not work any more. */
export async function renewSession(page: PageRequest, session: BrowserSession): Promise<void> {
  session.resetIdentifier()
  await extendSession(page, session)
}

export async function closeSession(page: PageRequest, session: BrowserSession): Promise<void> {
  await session.destroy()
  setCookie(page, 'session', { value: null, path: '/' })
}

/** How long, in seconds, a browser is remembered after a sign-in. */
const knownBrowserLife = 180 * 86_400

/** Identifies the account in the cookie without revealing it. */
const accountMark = (email: string) => digest(`browser of ${email.trim().toLowerCase()}`).slice(0, 20)

/**
 * The name of a browser in which this user has signed in before, from its signed cookie. It grants no
 * access: it only separates the user's attempts from those of other people (attempt-throttle.ts).
 */
export function findKnownBrowser(page: PageRequest, email: string): string | undefined {
  const { cookies } = contextOf(page)
  const [mark, name] = cookies.get(cookieName(page, 'known'), { signed: true })?.split('.') ?? []
  return mark === accountMark(email) ? name : undefined
}

/** Remembers the browser of a user who has signed in. */
export function rememberBrowser(page: PageRequest, email: string): void {
  const value = `${accountMark(email)}.${randomBytes(16).toString('hex')}`
  setCookie(page, 'known', { value, path: paths.signIn, life: knownBrowserLife })
}

type CookieKind = 'session' | 'interaction' | 'known'

const cookieName = ({ server: { provider } }: PageRequest, kind: CookieKind): string =>
  kind === 'known' ? `${provider.cookieName('interaction')}-known` : provider.cookieName(kind)

const contextOf = ({ server, visit }: PageRequest) =>
  server.provider.createContext(visit.request, visit.response)

interface Cookie {
  /** Null removes the cookie. */
  value: string | null
  path: string
  /** Seconds. */
  life?: number
}

/** A signed cookie that no script can read and no other site can send. */
export function setCookie(page: PageRequest, kind: CookieKind, { value, path, life }: Cookie): void {
  const { cookies, secure } = contextOf(page)
  cookies.set(cookieName(page, kind), value, {
    httpOnly: true,
    sameSite: 'lax',
    secure,
    signed: true,
    path,
    overwrite: true,
    maxAge: life && life * 1000,
  })
}
