import { existsSync, readdirSync, realpathSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Directories } from '../../system/files/directories.ts'
import { readFileLines } from '../read-file-lines.ts'
import { type EndLine, type JournalHeader, readJournalLine } from './journal-line.ts'
import { closeJournal, importsDirectory } from './open-journal.ts'
import { isUnresolved, RowStates } from './row-states.ts'

/** An import with rows that are not sent, or whose outcome is unknown. */
export interface UnfinishedImport {
  /** Path of its journal. */
  path: string
  /** Path of the input; `stdin` for a pipe. */
  file: string
  kind: string
  service: string
  rows: number
  /** Rows for which something was sent. The others may have faults, so that they are never sent. */
  tried: number
  /** Rows whose create has an unknown outcome. */
  unknown: number
}

/** Reads all journals without their locks, so that running imports are not disturbed. Ignores invalid files. */
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
      if (isUnresolved(state)) unknown++
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
 * Closes the unfinished imports of a file. Their journals remain, so a later run of the file resumes them.
 *
 * @param which.file need not exist any more; `-` is stdin
 * @returns the closed imports
 * @throws Failure `conflict` if one of them is running; `storage`
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
  /** Undefined if something was sent after the end. */
  ended: EndLine['type'] | undefined
}

async function readStates(path: string): Promise<ReadJournal | undefined> {
  let read: ReadJournal | undefined
  for await (const text of readFileLines(path)) {
    const line = readJournalLine(text)
    if (line === undefined) continue
    if ('row' in line) {
      read?.states.apply(line, 0)
      if (read) read.ended = undefined
    } else if (line.type === 'import') {
      read = { header: line, states: new RowStates(line.input.rows), ended: undefined }
    } else if (read && (line.type === 'finished' || line.type === 'closed')) {
      read.ended = line.type
      // As the next run does: see `EndLine`.
      if (line.type === 'finished') read.states.forgetUpdates()
    }
  }
  return read
}
