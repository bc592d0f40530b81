import { closest, distance } from 'fastest-levenshtein'

/**
 * The most similar known word, for "did you mean". Among dotted paths, the only one that contains the last name of
 * the word: `theme.primary_color` for `theme.color`.
 * @param maxEdits by how many letters the words may differ
 * @returns undefined if no known word is similar
 */
export function nearest(word: string, known: readonly string[], maxEdits = word.length): string | undefined {
  const last = word.split('.').at(-1) ?? ''
  const longer = last.length >= 4 && word.includes('.') ? known.filter((other) => other.includes(last)) : []
  if (longer.length === 1) return longer[0]
  // No other can have so few edits, and the comparison takes as long as both together.
  const similar = known.filter(({ length }) => word.length <= 2 * length)
  if (similar.length === 0) return undefined
  const best = closest(word, similar)
  const limit = Math.min(maxEdits, Math.max(1, Math.floor(Math.max(word.length, best.length) / 3)))
  return distance(word, best) <= (isTransposed(word, best) ? Math.max(2, limit) : limit) ? best : undefined
}

/** Two swapped letters are the most common typo, and count as two edits. */
function isTransposed(word: string, other: string): boolean {
  return [...word].sort().join('') === [...other].sort().join('')
}
