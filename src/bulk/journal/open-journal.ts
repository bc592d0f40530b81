import { closeSync, existsSync, openSync, readdirSync, readSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Failure } from '../../contract/failure.ts'
import type { Clock } from '../../system/clock.ts'
import { describeSystemError } from '../../system/describe-system-error.ts'
import type { Directories } from '../../system/directories.ts'
import { makePrivateDirectory } from '../../system/private-directory.ts'
import { tryProcessLock } from '../../system/process-lock.ts'
import { moveIntoPlace } from '../../system/replace-file.ts'
import { carryOver, type ValidRows } from './carry-over.ts'
import { Journal } from './journal.ts'
import { type FileLine, type JournalHeader, readJournalLine } from './journal-line.ts'
import { RowStates } from './row-states.ts'

const extension = '.jsonl'

interface Found {
  path: string
  header: JournalHeader
}

/** Where the journals are. */
export function importsDirectory({ state }: Directories): string {
  return join(state, 'imports')
}

/** What is imported, and how its journal is opened. */
export interface JournalRequest {
  /** Where the journals are. */
  directory: string
  header: JournalHeader
  /** Forgets what was done of the file, whatever it held then, once something is sent. */
  restart: boolean
  rows: ValidRows
}

/**
 * The journal of these rows for that service: a file keeps it when it is renamed or copied, and what
 * it has of the rows of the file when others are added.
 *
 * @throws Failure `conflict` where another process has it, or where a row that was sent was edited or
 *   removed; `storage`
 */
export async function openJournal({
  directory,
  header,
  restart,
  rows,
  clock,
}: JournalRequest & { clock: Clock }): Promise<Journal> {
  try {
    makePrivateDirectory(directory)
    const path = pathOf(directory, header)
    const locks = [lock(path, header)]
    const release = () => {
      for (const unlock of locks) unlock()
    }
    try {
      const changed = findChanged(directory, header)
      for (const old of changed) locks.push(lock(old.path, old.header))
      const carried = restart ? undefined : await carryAllOver(changed, { header, path, rows })
      if (carried?.hasRows) for (const old of changed) retire(old.path)
      const onBegin = () => {
        for (const old of changed) retire(old.path)
        retire(path)
      }
      return Journal.open({ path, header, clock, restart, onBegin, release, files: carried?.lists })
    } catch (error) {
      release()
      throw error
    }
  } catch (cause) {
    if (cause instanceof Failure) throw cause
    throw unusable(directory, cause)
  }
}

/**
 * How the rows stand, for a run that is to change nothing: where there is no journal, none is made.
 *
 * @throws Failure as `openJournal` does
 */
export async function readRowStates({
  directory,
  header,
  restart,
  rows,
}: JournalRequest): Promise<RowStates> {
  const path = pathOf(directory, header)
  if (!restart && existsSync(path)) return readJournal({ path, header }, (journal) => journal.rows)
  const states = new RowStates(header.input.rows)
  if (restart || !existsSync(directory)) return states
  for (const old of findChanged(directory, header)) {
    await readJournal(old, async (journal) => {
      for await (const line of carryOver({ ...old, journal }, rows)) states.take(line, 0)
    })
  }
  return states
}

/** Records that the import was given up. @throws Failure `conflict` where it runs; `storage` */
export async function closeJournal(path: string): Promise<void> {
  const header = readHeader(path)
  if (header === undefined) return
  const journal = Journal.open({ path, header, release: lock(path, header) })
  journal.end('closed')
  await journal.close()
}

/** Has a journal read, under its lock. */
async function readJournal<T>(
  { path, header }: Found,
  read: (journal: Journal) => T | Promise<T>,
): Promise<T> {
  const release = lock(path, header)
  const journal = Journal.open({ path, header, release })
  try {
    return await read(journal)
  } finally {
    journal.abandon()
  }
}

/**
 * Makes a journal of what earlier ones have of the rows; whole, or none.
 * @returns whether there was any row, and the files beside the input that earlier runs have written
 */
async function carryAllOver(
  changed: readonly Found[],
  { header, path, rows }: { header: JournalHeader; path: string; rows: ValidRows },
): Promise<{ hasRows: boolean; lists: FileLine[] }> {
  const release = () => {}
  const aside = `${path}.part`
  rmSync(aside, { force: true })
  const made = Journal.open({ path: aside, header, release })
  const files: FileLine[] = []
  try {
    for (const old of changed) {
      const journal = Journal.open({ path: old.path, header: old.header, release })
      try {
        for await (const line of carryOver({ ...old, journal }, rows)) made.carryOver(line)
        files.push(...journal.files)
      } finally {
        journal.abandon()
      }
    }
    const hasRows = existsSync(aside)
    if (hasRows) for (const file of files) made.noteFile(file)
    await made.close()
    if (hasRows) moveIntoPlace(aside, path)
    // Passwords that no user was created with are of no use.
    return { hasRows, lists: files.filter(({ type }) => type !== 'passwords') }
  } catch (error) {
    made.abandon()
    rmSync(aside, { force: true })
    throw error
  }
}

/** @throws Failure `conflict` where another process has it; `storage` */
function lock(path: string, { input }: JournalHeader): () => void {
  let release: (() => void) | undefined
  try {
    release = tryProcessLock(`${path}.lock`)
  } catch (cause) {
    throw unusable(dirname(path), cause)
  }
  if (release) return release
  throw new Failure('conflict', `Another chatctl process is importing ${input.name}`, {
    hint: 'Wait until it ends. Then run the same command to send the rows that are left.',
  })
}

function unusable(directory: string, cause: unknown): Failure {
  return new Failure('storage', `Cannot use the directory ${directory}: ${describeSystemError(cause)}`, {
    cause,
  })
}

function pathOf(directory: string, header: JournalHeader): string {
  return join(directory, `${nameOf(header)}${extension}`)
}

function nameOf({ kind, service, input }: JournalHeader): string {
  const { createHash } = process.getBuiltinModule('node:crypto')
  return createHash('sha256')
    .update(JSON.stringify([kind, service, input.form, input.sha256]))
    .digest('hex')
    .slice(0, 24)
}

/** Journals of the same path that held something else then, unless what it holds now has its own. */
function findChanged(directory: string, header: JournalHeader): Found[] {
  if (header.input.name === 'stdin') return []
  const own = `${nameOf(header)}${extension}`
  const entries = readdirSync(directory).filter((entry) => entry.endsWith(extension))
  if (entries.includes(own)) return []
  return entries.flatMap((entry) => {
    const path = join(directory, entry)
    const other = readHeader(path)
    const isSame =
      other?.kind === header.kind &&
      other.service === header.service &&
      other.input.name === header.input.name
    return isSame ? [{ path, header: other }] : []
  })
}

function readHeader(path: string): JournalHeader | undefined {
  const file = openSync(path, 'r')
  try {
    const bytes = Buffer.alloc(64 * 1024)
    const text = bytes.toString('utf8', 0, readSync(file, bytes, 0, bytes.length, 0))
    const line = readJournalLine(text.slice(0, text.indexOf('\n')))
    return line && 'type' in line && line.type === 'import' ? line : undefined
  } finally {
    closeSync(file)
  }
}

/** What is forgotten can still be looked at, until the next is. */
function retire(path: string): void {
  if (existsSync(path)) renameSync(path, `${path}.old`)
}
