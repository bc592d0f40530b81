import { createReadStream, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type JournalHeader, readJournalLine } from './journal-line.ts'
import { importsFolder } from './open-journal.ts'
import { isUnsettled, RowStates } from './row-states.ts'

/** An import that was begun and is not known to be done. */
export interface UnfinishedImport {
  /** Path of what was imported; `stdin`. */
  file: string
  kind: string
  service: string
  rows: number
  /** Rows of which something was sent. The others may be faulty ones, which are never sent. */
  tried: number
  /** Rows of which nobody knows whether their user was created. */
  unknown: number
}

/** Looks at the journals without their locks: an import that runs is not disturbed. What is no journal is passed over. */
export async function findUnfinishedImports(): Promise<UnfinishedImport[]> {
  const found: UnfinishedImport[] = []
  for (const name of journals()) {
    const read = await readStates(join(importsFolder(), name)).catch(() => undefined)
    if (!read) continue
    const { header, states } = read
    const { rows, name: file } = header.input
    let tried = 0
    let open = 0
    let unknown = 0
    for (let row = 0; row < rows; row++) {
      const state = states.of(row)
      if (state === undefined) continue
      tried++
      if (isUnsettled(state)) unknown++
      else if (['intended', 'unsent', 'unknown'].includes(state.phase)) open++
    }
    if (tried < rows || open > 0 || unknown > 0) {
      found.push({ file, kind: header.kind, service: header.service, rows, tried, unknown })
    }
  }
  return found
}

function journals(): string[] {
  try {
    return readdirSync(importsFolder()).filter((name) => name.endsWith('.jsonl'))
  } catch {
    return []
  }
}

async function readStates(path: string): Promise<{ header: JournalHeader; states: RowStates } | undefined> {
  let header: JournalHeader | undefined
  let states: RowStates | undefined
  let rest = ''
  for await (const chunk of createReadStream(path, { encoding: 'utf8', highWaterMark: 1024 * 1024 })) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const text of lines) {
      const line = readJournalLine(text)
      if (line === undefined) continue
      if ('row' in line) states?.take(line, 0)
      else if (line.type === 'import') {
        header = line
        states = new RowStates(line.input.rows)
      }
    }
  }
  return header && states && { header, states }
}
