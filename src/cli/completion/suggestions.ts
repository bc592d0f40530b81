/** A completion of the word at the cursor. */
export interface Candidate {
  /** The whole word. */
  value: string
  description?: string | undefined
  /** Whether the word continues, so that no space follows it. */
  isOpen?: boolean
}

export interface Suggestions {
  candidates: readonly Candidate[]
  /** Which paths the shell completes itself. */
  paths?: 'files' | 'directories'
}

export const nothing: Suggestions = { candidates: [] }

export function candidates(values: Iterable<string>): Suggestions {
  return { candidates: Array.from(values, (value) => ({ value })) }
}

/** Maximum length of a description. The first message of a session may be long. */
const longestDescription = 80

/** The candidates that start with `word`, sorted, without duplicates and control characters. */
export function startingWith(word: string, { candidates, ...rest }: Suggestions): Suggestions {
  const known = new Map<string, Candidate>()
  for (const candidate of candidates) {
    const { value, description } = candidate
    if (!value.startsWith(word) || /[\p{Cc}\p{Zl}\p{Zp}]/u.test(value) || known.has(value)) continue
    known.set(value, { ...candidate, description: description && onOneLine(description) })
  }
  return { ...rest, candidates: [...known.values()].sort((a, b) => (a.value < b.value ? -1 : 1)) }
}

/** Adds the start of the word, such as `--output=`, to each candidate. */
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
