import { distance } from 'fastest-levenshtein'
import type { Advice } from '../contract/advice.ts'
import { Failure } from '../contract/failure.ts'
import { keyOf } from './state/state-entry.ts'
import type { UsersState } from './state/users-state.ts'

interface Lookup {
  state: UsersState
  /** Of the state file, for errors. */
  name: string
  /** Whether the error names the most similar email, for which all entries are read. */
  suggests: boolean
}

/**
 * The id of a user in the state.
 *
 * @throws Failure `refused` if the file does not exist, the email has no entry, or its id is unknown
 */
export function idOfEmail(email: string, { state, name, suggests }: Lookup): string {
  const found = state.find(email)
  if (found?.id !== undefined) return found.id
  const advice = [{ code: 'adopt_email' as const, email, state: name }]
  if (found === undefined || found.creation === 'forgotten')
    throw noEntry(email, { state, name, suggests }, advice)
  throw new Failure('refused', `The id of ${email} is unknown: ${name} has no outcome of its creation`, {
    advice,
  })
}

export function noEntry(
  email: string,
  { state, name, suggests }: Lookup,
  advice: readonly Advice[] = [],
): Failure {
  if (!state.exists) return new Failure('refused', `The state file ${name} does not exist`, { advice })
  const meant = suggests ? nearestEmail(email, state) : undefined
  return new Failure('refused', `${name} has no user with the email ${email}`, {
    hint: meant && `Did you mean ${meant}?`,
    advice,
  })
}

/** The most similar email, without holding all of them in memory. */
function nearestEmail(email: string, state: UsersState): string | undefined {
  const key = keyOf(email)
  let best: string | undefined
  // The domains are usually equal, so only the part before it counts.
  let least = Math.max(2, Math.floor(key.lastIndexOf('@') / 3)) + 1
  for (const entry of state.entries()) {
    const differences = distance(key, keyOf(entry.email))
    if (differences >= least) continue
    least = differences
    best = entry.email
  }
  return best
}
