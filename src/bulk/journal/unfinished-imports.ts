import { existsSync, readdirSync, realpathSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Directories } from '../../system/directories.ts'
import { readFileLines } from '../read-file-lines.ts'
import { type EndLine, type JournalHeader, readJournalLine } from './journal-line.ts'
import { closeJournal, importsDirectory } from './open-journal.ts'
import { isUnsettled, RowStates } from './row-states.ts'

/** An import that was begun and is not known to be done. */
export interface UnfinishedImport {
  /** Of its journal. */
  path: string
  /** Path of what was imported; `stdin`. */
  file: string
  kind: string
  service: string
  rows: number
  /** Rows of which something was sent. The others may be faulty ones, which are never sent. */
  tried: number
  /** Rows to be created whose outcome is unknown. */
  unknown: number
}

/** Looks at the journals without their locks: an import that runs is not disturbed. What is no journal is passed over. */
export async function findUnfinishedImports(directories: Directories): Promise<UnfinishedImport[]> {
  const found: UnfinishedImport[] = []
  const directory = importsDirectory(directories)
  for (const name of journals(directory)) {
    const path = join(directory, name)
    const read = await readStates(path).catch(() => undefined)
    if (!read) continue
    const { header, states, ended } = read
    if (ended === 'closed') continue
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
    const isOpen = ended === undefined && (tried < rows || open > 0)
    if (isOpen || unknown > 0) {
      found.push({ path, file, kind: header.kind, service: header.service, rows, tried, unknown })
    }
  }
  return found
}

/**
 * Gives the unfinished imports of a file up, until it is imported again: what was sent stays recorded.
 *
 * @param which.file need not be there any more; `-` is stdin
 * @returns those that were closed
 * @throws Failure `conflict` where one of them runs; `storage`
 */
export async function closeImports(
  directories: Directories,
  which: {
    file: string
    kind: string
    service: string
  },
): Promise<UnfinishedImport[]> {
  const { file, kind, service } = which
  const name = file === '-' ? 'stdin' : existsSync(file) ? realpathSync(file) : resolve(file)
  const closed = (await findUnfinishedImports(directories)).filter(
    (found) => found.file === name && found.kind === kind && found.service === service,
  )
  for (const { path } of closed) await closeJournal(path)
  return closed
}

function journals(directory: string): string[] {
  try {
    return readdirSync(directory).filter((name) => name.endsWith('.jsonl'))
  } catch {
    return []
  }
}

interface ReadJournal {
  header: JournalHeader
  states: RowStates
  /** Undefined where something was sent since. */
  ended: EndLine['type'] | undefined
}

async function readStates(path: string): Promise<ReadJournal | undefined> {
  let read: ReadJournal | undefined
  for await (const text of readFileLines(path)) {
    const line = readJournalLine(text)
    if (line === undefined) continue
    if ('row' in line) {
      read?.states.take(line, 0)
      if (read) read.ended = undefined
    } else if (line.type === 'import') {
      read = { header: line, states: new RowStates(line.input.rows), ended: undefined }
    } else if (read && (line.type === 'finished' || line.type === 'closed')) {
      read.ended = line.type
      // The next run sends them again: until then none of them was.
      if (line.type === 'finished') read.states.forgetUpdates()
    }
  }
  return read
}
