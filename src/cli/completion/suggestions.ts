/** One way to go on with the word at the cursor. */
export interface Candidate {
  /** The whole word. */
  value: string
  description?: string | undefined
  /** Whether more of the same word is to follow, so that no space is put behind it. */
  isOpen?: boolean
}

export interface Suggestions {
  candidates: readonly Candidate[]
  /** What the shell is to look for by itself. */
  paths?: 'files' | 'directories'
}

export const nothing: Suggestions = { candidates: [] }

export function candidates(values: Iterable<string>): Suggestions {
  return { candidates: Array.from(values, (value) => ({ value })) }
}

/** A title in a line: of the first message of a session there may be pages. */
const longestDescription = 80

/** Those that go on with `word`, each once, by name. No shell can be given a control character. */
export function startingWith(word: string, { candidates, ...rest }: Suggestions): Suggestions {
  const known = new Map<string, Candidate>()
  for (const candidate of candidates) {
    const { value, description } = candidate
    if (!value.startsWith(word) || /[\p{Cc}\p{Zl}\p{Zp}]/u.test(value) || known.has(value)) continue
    known.set(value, { ...candidate, description: description && onOneLine(description) })
  }
  return { ...rest, candidates: [...known.values()].sort((a, b) => (a.value < b.value ? -1 : 1)) }
}

/** The same candidates behind what stands before them in the same word, `--output=`. */
export function withPrefix(prefix: string, { candidates, ...rest }: Suggestions): Suggestions {
  return { ...rest, candidates: candidates.map((one) => ({ ...one, value: prefix + one.value })) }
}

function onOneLine(text: string): string {
  const line = text.replaceAll(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim()
  const characters = Array.from(line)
  return characters.length > longestDescription
    ? `${characters.slice(0, longestDescription - 1).join('')}…`
    : line
}
