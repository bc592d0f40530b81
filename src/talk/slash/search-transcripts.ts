import type { ContextOwner } from '../../config/last-context.ts'
import { cutToWidth } from '../../terminal/editor/cut-to-width.ts'
import { listTranscripts } from '../transcript/list-transcripts.ts'
import { readTranscript } from '../transcript/read-transcript.ts'

/** The most places that are of use to a person. */
const enough = 30

/** Characters that are shown before what was found. */
const lead = 20

/**
 * Where something was said, the latest first, a line for each turn: session, turn, and the words
 * around it. Case makes no difference.
 */
export function searchTranscripts(
  folder: string,
  owner: ContextOwner,
  words: string,
  columns: number,
): string[] {
  const wanted = words.toLowerCase()
  const found: string[] = []
  for (const { id, path } of listTranscripts(folder, owner)) {
    for (const { number, user, answer } of readTranscript(path).turns.toReversed()) {
      const text = [user, answer].find((said) => said.toLowerCase().includes(wanted))
      if (text === undefined) continue
      if (found.length === enough) return [...found, '… and more']
      found.push(cutToWidth(`${id} turn ${number}: ${around(text, wanted)}`, columns).text)
    }
  }
  return found
}

function around(text: string, wanted: string): string {
  const line = text.replaceAll(/\s+/g, ' ')
  const from = Math.max(0, line.toLowerCase().indexOf(wanted) - lead)
  return `${from > 0 ? '…' : ''}${line.slice(from)}`
}
