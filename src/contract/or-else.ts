/** The result of some work; something else if it throws, for whatever reason. */
export function orElse<T, E>(work: () => T, otherwise: E): T | E {
  try {
    return work()
  } catch {
    return otherwise
  }
}

/** A part of a URL without percent-encoding; as it is if its encoding is invalid. */
export const decodedPart = (part: string): string => orElse(() => decodeURIComponent(part), part)
