import { Failure } from '../../contract/failure.ts'
import type { StoredCredential } from '../../credentials/stored-credential.ts'
import { stripControls } from '../../terminal/strip-controls.ts'
import type { Context } from '../create-context.ts'
import { ownerOf } from './credential-stores.ts'
import type { LoginPlan } from './plan-login.ts'
import type { Owner } from './who-is.ts'

/**
 * Asks before a sign-in through the browser gives a profile to another person: another user may
 * have completed it. An API key is the choice of the person who gives it.
 *
 * @throws Failure `declined`; `input_needed` in a non-interactive run, with the command that helps
 */
export async function confirmOwner(
  { stores, prompter, signal }: Context,
  { connection: { profile, baseUrl } }: LoginPlan,
  { kind }: StoredCredential,
  owner: Owner | undefined,
): Promise<void> {
  if (kind === 'api_key' || !owner) return
  const earlier = await stores
    .ofProfile(profile)
    .read(ownerOf(profile, baseUrl), signal)
    .catch((error: unknown) => {
      // An unreadable credential names no user.
      if (error instanceof Failure) return undefined
      throw error
    })
  if (!earlier?.user || isSamePerson(earlier.user, owner)) return
  const [before, now] = [earlier.user, owner].map(({ id, email }) => stripControls(email ?? id ?? ''))
  const words = `Profile "${profile}" was signed in as ${before}, and the browser signed in ${now}`
  if (prompter.canAsk) return prompter.confirm(`${words}. Continue as ${now}?`)
  throw new Failure('input_needed', words, {
    code: 'user_mismatch',
    hint: `To change the user, sign out first with: chatctl auth logout --profile ${profile}`,
  })
}

/** As far as the service names both. */
function isSamePerson(one: Pick<Owner, 'id' | 'email'>, other: Pick<Owner, 'id' | 'email'>): boolean {
  if (one.id !== null && other.id !== null) return one.id === other.id
  if (one.email === null || other.email === null) return true
  return one.email.toLowerCase() === other.email.toLowerCase()
}
