/**
 * Whether the subject of an identity token matches a pattern, from the first to the last character. `*` is
 * any number of characters without a colon, and `**` any number of characters. Everything else is itself.
 * The time is proportional to the length of the pattern times the length of the subject.
 */
export function matchesSubject(pattern: string, subject: string): boolean {
  const parts = pattern.match(/\*\*|./gsu) ?? []
  // The positions in the pattern up to which it matches the characters read so far.
  let reached = skipWildcards(parts, [0])
  for (const character of subject) {
    const next: number[] = []
    for (const position of reached) {
      const part = parts[position]
      if (part === '**' || (part === '*' && character !== ':')) next.push(position)
      if (part === character && part !== '*') next.push(position + 1)
    }
    reached = skipWildcards(parts, next)
  }
  return reached.has(parts.length)
}

/** Adds the positions after wildcards, which may match nothing. */
function skipWildcards(parts: readonly string[], positions: readonly number[]): Set<number> {
  const all = new Set<number>()
  for (let position of positions) {
    for (; !all.has(position); position++) {
      all.add(position)
      if (parts[position] !== '*' && parts[position] !== '**') break
    }
  }
  return all
}
