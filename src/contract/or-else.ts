import { Failure } from './failure.ts'

/** The result of some work; something else if it throws, for whatever reason. */
export function orElse<T, E>(work: () => T, otherwise: E): T | E {
  try {
    return work()
  } catch {
    return otherwise
  }
}

/** An unreadable ledger does not prevent a change: the change is sent with a warning that it is not in the ledger. */
export function unlessUnreadable<T>(ask: () => T): T | undefined {
  try {
    return ask()
  } catch (error) {
    if (error instanceof Failure && error.kind === 'storage') return undefined
    throw error
  }
}

/** A part of a URL without percent-encoding; as it is if its encoding is invalid. */
export const decodedPart = (part: string): string => orElse(() => decodeURIComponent(part), part)
