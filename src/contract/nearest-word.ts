import { closest, distance } from 'fastest-levenshtein'

/**
 * The known word that was probably meant, or undefined where none is near. Of dotted paths, the one
 * that has the last name of the word in it: `theme.color` is `theme.primary_color`.
 */
export function nearest(word: string, known: readonly string[]): string | undefined {
  if (known.length === 0) return undefined
  const last = word.split('.').at(-1) ?? ''
  const longer = last.length >= 4 && word.includes('.') ? known.filter((other) => other.includes(last)) : []
  if (longer.length === 1) return longer[0]
  const best = closest(word, known)
  const limit = Math.max(1, Math.floor(Math.max(word.length, best.length) / 3))
  return distance(word, best) <= (isTransposed(word, best) ? Math.max(2, limit) : limit) ? best : undefined
}

/** Two swapped letters are the most common typo, and count as two edits. */
function isTransposed(word: string, other: string): boolean {
  return [...word].sort().join('') === [...other].sort().join('')
}
