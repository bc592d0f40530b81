import type { Match, SearchQuery } from './search-query.ts'

/** Characters of a snippet, and those of them before the first match. */
const length = 200
const lead = 60

/** Number of matches that are considered. A long text repeats the same ones. */
const maxMatches = 200

/** The part of a text with the most different matches, on one line. An ellipsis stands for the rest. */
export function snippetOf(text: string, query: SearchQuery): string {
  const matches = query.find(text, maxMatches)
  let best = { start: 0, end: 0, phrases: 0 }
  for (const [index, { start, end }] of matches.entries()) {
    const phrases = new Set<number>()
    for (let at = index; at < matches.length; at++) {
      const match = matches[at] as Match
      if (match.start > start + length - lead) break
      phrases.add(match.phrase)
    }
    if (phrases.size > best.phrases) best = { start, end, phrases: phrases.size }
  }
  const from = wordStart(text, best.start - lead)
  const to = Math.max(wordEnd(text, from + length), best.end)
  const shown = text.slice(from, to).replaceAll(/\s+/g, ' ').trim()
  return `${from > 0 ? '…' : ''}${shown}${to < text.length ? '…' : ''}`
}

/** The first place at which a word begins, not far after a position. */
function wordStart(text: string, position: number): number {
  if (position <= 0) return 0
  const space = /\s\S/.exec(text.slice(position, position + lead / 2))
  return space ? position + space.index + 1 : position + (isInsideCharacter(text, position) ? 1 : 0)
}

/** The last place at which a word ends, not far before a position. */
function wordEnd(text: string, position: number): number {
  if (position >= text.length) return text.length
  const space = text.slice(position - lead / 2, position).search(/\s\S*$/)
  return space > 0 ? position - lead / 2 + space : position - (isInsideCharacter(text, position) ? 1 : 0)
}

/** Whether a position is between the halves of a surrogate pair. */
function isInsideCharacter(text: string, position: number): boolean {
  return /[\udc00-\udfff]/.test(text.charAt(position))
}
