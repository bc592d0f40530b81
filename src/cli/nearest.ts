import { closest, distance } from 'fastest-levenshtein'

/** The known word that was probably meant, or undefined where none is near. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  if (known.length === 0) return undefined
  const best = closest(word, known)
  const near = distance(word, best) <= Math.max(1, Math.floor(Math.max(word.length, best.length) * 0.4))
  return near ? best : undefined
}
