import { readdir } from 'node:fs/promises'
import { basename, dirname, resolve } from 'node:path'
import type { Completions } from '../terminal/editor/editor-options.ts'
import { maxPathLength } from './attachments.ts'
import { expandHome, type FileLocation } from './slash/save-text.ts'

const noCompletions: Completions = { start: 0, candidates: [] }

/**
 * Completes a path.
 *
 * @param from index of the path in the line
 */
export async function completePath(typed: string, from: number, place: FileLocation): Promise<Completions> {
  const name = typed.endsWith('/') ? '' : basename(typed)
  const start = from + typed.length - name.length
  const directory = resolve(place.cwd ?? '', typed === name ? '.' : dirname(`${expandHome(typed, place)}x`))
  try {
    const entries = await readdir(directory, { withFileTypes: true })
    const found = entries.filter(
      (entry) => entry.name.startsWith(name) && (name !== '' || !entry.name.startsWith('.')),
    )
    return {
      start,
      candidates: found.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name)).sort(),
    }
  } catch {
    return noCompletions
  }
}

/**
 * Completes `@path` at the end of a line. A path with a space is quoted.
 *
 * @param before the line up to the cursor
 */
export async function completeMention(before: string, place: FileLocation): Promise<Completions> {
  const [mention, quoted, word] =
    /(?<=^|[\s([{])@(?:"([^"]*)|([^\s"]*))$/.exec(before.slice(-maxPathLength)) ?? []
  if (mention === undefined) return noCompletions
  const typed = quoted ?? word ?? ''
  const from = before.length - typed.length
  const { start, candidates } = await completePath(typed, from, place)
  const isQuoted = quoted !== undefined || candidates.some((name) => /\s/.test(name))
  if (!isQuoted) return { start, candidates }
  const directory = typed.slice(0, start - from)
  return {
    start: before.length - mention.length,
    // A directory stays open, so that its path can continue.
    candidates: candidates.map((name) => `@"${directory}${name}${name.endsWith('/') ? '' : '"'}`),
  }
}
