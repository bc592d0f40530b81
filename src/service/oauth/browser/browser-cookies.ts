import { randomBytes } from 'node:crypto'
import type Provider from 'oidc-provider'
import { sessionLifetime } from '../lifetimes.ts'
import { paths } from '../metadata.ts'
import { digest } from '../records.ts'
import type { BrowserRequest } from './browser-request.ts'

export type BrowserSession = InstanceType<Provider['Session']>

/** The sign-in session of the browser, or undefined if no user is signed in. */
export async function findSession(
  provider: Provider,
  visit: BrowserRequest,
): Promise<BrowserSession | undefined> {
  const session = await provider.Session.get(provider.createContext(visit.request, visit.response))
  return session.accountId === undefined ? undefined : session
}

/** Signs a browser in with a new cookie, against session fixation. @param session default: a new one */
export async function openSession(
  provider: Provider,
  visit: BrowserRequest,
  accountId: string,
  methods: string[],
  session: BrowserSession = new provider.Session(),
): Promise<BrowserSession> {
  session.loginAccount({ accountId, amr: methods })
  await renewSession(provider, visit, session)
  return session
}

/** Restarts the idle time of a session. */
export async function extendSession(
  provider: Provider,
  visit: BrowserRequest,
  session: BrowserSession,
): Promise<void> {
  const life = sessionLifetime(session.loginTs)
  await session.save(life)
  setCookie(provider, visit, { name: provider.cookieName('session'), value: session.jti, path: '/', life })
}

/** Gives a session a new cookie, so that a copy of the old one does not work any more. */
export async function renewSession(
  provider: Provider,
  visit: BrowserRequest,
  session: BrowserSession,
): Promise<void> {
  session.resetIdentifier()
  await extendSession(provider, visit, session)
}

export async function closeSession(
  provider: Provider,
  visit: BrowserRequest,
  session: BrowserSession,
): Promise<void> {
  await session.destroy()
  setCookie(provider, visit, { name: provider.cookieName('session'), value: null, path: '/' })
}

/** How long, in seconds, a browser is remembered after a sign-in. */
const knownBrowserLife = 180 * 86_400

/** Identifies the account in the cookie without revealing it. */
const accountMark = (email: string) => digest(`browser of ${email.trim().toLowerCase()}`).slice(0, 20)

/**
 * The name of a browser in which this user has signed in before, from its signed cookie. It grants no
 * access: it only separates the user's attempts from those of other people (attempt-throttle.ts).
 */
export function findKnownBrowser(
  provider: Provider,
  visit: BrowserRequest,
  email: string,
): string | undefined {
  const { cookies } = provider.createContext(visit.request, visit.response)
  const [mark, name] = cookies.get(knownBrowserName(provider), { signed: true })?.split('.') ?? []
  return mark === accountMark(email) ? name : undefined
}

/** Remembers the browser of a user who has signed in. */
export function rememberBrowser(provider: Provider, visit: BrowserRequest, email: string): void {
  const value = `${accountMark(email)}.${randomBytes(16).toString('hex')}`
  const name = knownBrowserName(provider)
  setCookie(provider, visit, { name, value, path: paths.signIn, life: knownBrowserLife })
}

const knownBrowserName = (provider: Provider) => `${provider.cookieName('interaction')}-known`

interface Cookie {
  name: string
  /** Null removes the cookie. */
  value: string | null
  path: string
  /** Seconds. */
  life?: number
}

/** A signed cookie that no script can read and no other site can send. */
export function setCookie(
  provider: Provider,
  { request, response }: BrowserRequest,
  { name, value, path, life }: Cookie,
): void {
  const { cookies, secure } = provider.createContext(request, response)
  cookies.set(name, value, {
    httpOnly: true,
    sameSite: 'lax',
    secure,
    signed: true,
    path,
    overwrite: true,
    maxAge: life && life * 1000,
  })
}
