import { closeSync, existsSync, openSync, readdirSync, readSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Failure } from '../../contract/failure.ts'
import type { Clock } from '../../system/clock.ts'
import type { Directories } from '../../system/files/directories.ts'
import { makePrivateDirectory, unusableStateDirectory } from '../../system/files/private-directory.ts'
import { tryProcessLock } from '../../system/files/process-lock.ts'
import { moveFile, moveIntoPlace } from '../../system/files/replace-file.ts'
import { carryOver, type ValidRows } from './carry-over.ts'
import { Journal } from './journal.ts'
import { type FileLine, type JournalHeader, readJournalLine } from './journal-line.ts'
import { RowStates } from './row-states.ts'

const extension = '.jsonl'

interface FoundJournal {
  path: string
  header: JournalHeader
}

/** The directory of the journals. */
export function importsDirectory({ state }: Directories): string {
  return join(state, 'imports')
}

/** An import whose journal is opened. */
export interface JournalRequest {
  /** From `importsDirectory`. */
  directory: string
  header: JournalHeader
  /** Replaces the journals of all versions of the file when something is sent. */
  restart: boolean
  rows: ValidRows
}

/**
 * Opens the journal of an input and a service. It is found by the content of the input, so a file may be
 * renamed or copied. If the file has changed, the records of its unchanged rows are carried over.
 *
 * @throws Failure `conflict` if another process holds the lock, or if a row that was sent was edited or
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
      if (carried?.hasRows) for (const old of changed) archive(old.path)
      const onBegin = () => {
        for (const old of changed) archive(old.path)
        archive(path)
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
 * Reads the states of the rows, for a dry run. Creates no journal.
 *
 * @throws Failure as `openJournal`
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
  if (restart) return states
  for (const old of findChanged(directory, header)) {
    await readJournal(old, async (journal) => {
      for await (const line of carryOver({ ...old, journal }, rows)) states.apply(line, 0)
    })
  }
  return states
}

/** Records that the user gave up the import. @throws Failure `conflict` if it is running; `storage` */
export async function closeJournal(path: string): Promise<void> {
  const header = readHeader(path)
  if (header === undefined) return
  const journal = Journal.open({ path, header, release: lock(path, header) })
  journal.end('closed')
  await journal.close()
}

/** Reads a journal under its lock. @param release its lock, if the caller holds it */
async function readJournal<T>(
  { path, header }: FoundJournal,
  read: (journal: Journal) => T | Promise<T>,
  release = lock(path, header),
): Promise<T> {
  const journal = Journal.open({ path, header, release })
  try {
    return await read(journal)
  } finally {
    journal.closeWithoutSync()
  }
}

/**
 * Creates a journal from those of earlier versions of the file, atomically.
 *
 * @returns whether any row was carried over, and the files of failed or unknown rows
 */
async function carryAllOver(
  changed: readonly FoundJournal[],
  { header, path, rows }: { header: JournalHeader; path: string; rows: ValidRows },
): Promise<{ hasRows: boolean; lists: FileLine[] }> {
  const release = () => {}
  const temporary = `${path}.part`
  rmSync(temporary, { force: true })
  const created = Journal.open({ path: temporary, header, release })
  const files: FileLine[] = []
  try {
    for (const old of changed) {
      const copy = async (journal: Journal): Promise<void> => {
        for await (const line of carryOver({ ...old, journal }, rows)) created.record(line)
        files.push(...journal.files)
      }
      await readJournal(old, copy, release)
    }
    const hasRows = existsSync(temporary)
    if (hasRows) for (const file of files) created.noteFile(file)
    await created.close()
    if (hasRows) moveIntoPlace(temporary, path)
    // If no row was carried over, no user has one of the generated passwords.
    return { hasRows, lists: files.filter(({ type }) => type !== 'passwords') }
  } catch (error) {
    created.closeWithoutSync()
    rmSync(temporary, { force: true })
    throw error
  }
}

/** @throws Failure `conflict` if another process holds the lock; `storage` */
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
  return unusableStateDirectory(directory, 'the journal of an import there', cause)
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

/** The journals of other versions of the same file, if the current version has none. */
function findChanged(directory: string, header: JournalHeader): FoundJournal[] {
  const { name } = header.input
  if (name === 'stdin' || existsSync(pathOf(directory, header))) return []
  return findOthers(directory, header).filter((other) => other.header.input.name === name)
}

/** The journals of other imports of this kind to the service. */
export function findOthers(directory: string, header: JournalHeader): FoundJournal[] {
  const entries = existsSync(directory) ? readdirSync(directory) : []
  return entries.flatMap((entry) => {
    const path = join(directory, entry)
    if (!entry.endsWith(extension) || path === pathOf(directory, header)) return []
    const other = readHeader(path)
    return other?.kind === header.kind && other.service === header.service ? [{ path, header: other }] : []
  })
}

/** Whether the import was begun with `restart`. */
export function wasRestarted(directory: string, header: JournalHeader): boolean {
  const path = pathOf(directory, header)
  return existsSync(path) && readHeader(path)?.restarted === true
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

/** Keeps the last replaced journal, for the user and for `readSpentQuota`. */
function archive(path: string): void {
  if (existsSync(path)) moveFile(path, `${path}.old`)
}
