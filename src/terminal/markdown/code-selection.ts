/** Which code blocks of a reply: the one with this number, from 1; the last; or all. */
export type CodeSelection = number | 'last' | 'all'

/** @returns undefined for any other text */
export function readCodeSelection(text: string): CodeSelection | undefined {
  if (text === 'last' || text === 'all') return text
  return /^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined
}
