import type Provider from 'oidc-provider'
import { sessionLife } from './lives.ts'
import type { Visit } from './visit.ts'

export type BrowserSession = InstanceType<Provider['Session']>

/** The session of the browser, or undefined where nobody is signed in. */
export async function findSession(provider: Provider, visit: Visit): Promise<BrowserSession | undefined> {
  const session = await provider.Session.get(provider.createContext(visit.request, visit.response))
  return session.accountId === undefined ? undefined : session
}

/**
 * Signs a browser in. Its cookie is a new one (session fixation); the session of somebody else who
 * was signed in there ends.
 */
export async function openSession(
  provider: Provider,
  visit: Visit,
  accountId: string,
  methods: string[],
): Promise<void> {
  const before = await findSession(provider, visit)
  const isOther = before !== undefined && before.accountId !== accountId
  if (isOther) await before.destroy()
  const session = before === undefined || isOther ? new provider.Session() : before
  session.loginAccount({ accountId, amr: methods })
  await renewSession(provider, visit, session)
}

/** Begins the idle time of a session anew. */
export async function keepSession(provider: Provider, visit: Visit, session: BrowserSession): Promise<void> {
  const life = sessionLife(session.loginTs)
  await session.save(life)
  setCookie(provider, visit, session.jti, new Date(Date.now() + life * 1000))
}

/** Gives a session a new cookie: whoever has a copy of the old one is out. */
export async function renewSession(provider: Provider, visit: Visit, session: BrowserSession): Promise<void> {
  session.resetIdentifier()
  await keepSession(provider, visit, session)
}

export async function closeSession(provider: Provider, visit: Visit, session: BrowserSession): Promise<void> {
  await session.destroy()
  setCookie(provider, visit, null, undefined)
}

function setCookie(
  provider: Provider,
  { request, response }: Visit,
  value: string | null,
  expires: Date | undefined,
): void {
  const { cookies, secure } = provider.createContext(request, response)
  cookies.set(provider.cookieName('session'), value, {
    httpOnly: true,
    sameSite: 'lax',
    secure,
    signed: true,
    path: '/',
    overwrite: true,
    ...(expires && { expires }),
  })
}
