import { randomBytes } from 'node:crypto'
import { paths } from './metadata.ts'
import { digest } from './references.ts'
import type { Desk, Visit } from './visit.ts'

/** How long, in ms, a browser is remembered after a sign-in. */
const life = 180 * 86_400_000

/** Which account a browser was signed in to, without telling anyone who reads the cookie. */
const markOf = (email: string) => digest(`browser of ${email.trim().toLowerCase()}`).slice(0, 20)

/**
 * The name of a browser in which this person has signed in before, from its signed cookie. It opens
 * nothing: it only tells the person's attempts from those of others (attempt-throttle.ts).
 */
export function findKnownBrowser({ provider }: Desk, visit: Visit, email: string): string | undefined {
  const { cookies } = provider.createContext(visit.request, visit.response)
  const [mark, name] = cookies.get(cookieName(provider), { signed: true })?.split('.') ?? []
  return mark === markOf(email) ? name : undefined
}

/** Remembers the browser of a person who has signed in. */
export function rememberBrowser({ provider }: Desk, visit: Visit, email: string): void {
  const { cookies, secure } = provider.createContext(visit.request, visit.response)
  const value = `${markOf(email)}.${randomBytes(16).toString('hex')}`
  cookies.set(cookieName(provider), value, {
    ...{ path: paths.signIn, httpOnly: true, sameSite: 'lax', secure, signed: true, maxAge: life },
  })
}

const cookieName = (provider: Desk['provider']) => `${provider.cookieName('interaction')}-known`
