import { closeSync, existsSync, openSync, readdirSync, readSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { makePrivateFolder } from '../../config/make-private-folder.ts'
import { stateFolder } from '../../config/paths.ts'
import { Failure } from '../../failure.ts'
import { tryProcessLock } from '../../process-lock.ts'
import { systemWords } from '../../system-words.ts'
import { Journal } from './journal.ts'
import { type JournalHeader, readJournalLine } from './journal-line.ts'
import { RowStates } from './row-states.ts'

const extension = '.jsonl'

interface Found {
  path: string
  header: JournalHeader
}

/** Where the journals are. */
export function importsFolder(): string {
  return join(stateFolder(), 'imports')
}

/**
 * The journal of these rows for that service: a file keeps it when it is renamed or copied.
 *
 * @param window ms, of the quota that is kept
 * @param restart forgets what was done of the file, whatever it held then, once something is sent
 * @throws Failure `conflict` where another process has it, or where the file has changed since it was
 *   imported; `storage`
 */
export function openJournal(
  header: JournalHeader,
  { window, restart }: { window: number; restart: boolean },
): Journal {
  const folder = importsFolder()
  try {
    makePrivateFolder(folder)
    const path = join(folder, `${nameOf(header)}${extension}`)
    const locks = [lock(path, header)]
    const release = () => {
      for (const unlock of locks) unlock()
    }
    try {
      const changed = findChanged(folder, header)
      for (const old of changed) {
        locks.push(lock(old.path, old.header))
        if (!restart) assertNothingTaken(old, header, () => {})
      }
      const onBegin = () => {
        for (const old of changed) retire(old.path)
        if (restart) retire(path)
      }
      return Journal.open({ path, header, window, restart, onBegin, release })
    } catch (error) {
      release()
      throw error
    }
  } catch (cause) {
    if (cause instanceof Failure) throw cause
    throw new Failure('storage', `${folder} cannot be used: ${systemWords(cause)}`, { cause })
  }
}

/**
 * How the rows stand, for a run that is to change nothing: where there is no journal, none is made.
 *
 * @throws Failure as `openJournal` does
 */
export function readRowStates(header: JournalHeader, { restart }: { restart: boolean }): RowStates {
  const folder = importsFolder()
  const path = join(folder, `${nameOf(header)}${extension}`)
  if (!restart && existsSync(path)) return statesIn({ path, header }, lock(path, header))
  if (!restart && existsSync(folder)) {
    for (const old of findChanged(folder, header)) {
      assertNothingTaken(old, header, lock(old.path, old.header))
    }
  }
  return new RowStates(header.input.rows)
}

/** @param release gives back the lock of the journal, where it was taken for this */
function statesIn({ path, header }: Found, release: () => void): RowStates {
  const journal = Journal.open({ path, header, window: 0, release })
  journal.abandon()
  return journal.rows
}

function lock(path: string, { input }: JournalHeader): () => void {
  const release = tryProcessLock(`${path}.lock`)
  if (release) return release
  throw new Failure('conflict', `Another chatctl is importing ${input.name}`, {
    hint: 'Wait until it is done: what it leaves, the same command goes on with.',
  })
}

function nameOf({ kind, service, input }: JournalHeader): string {
  const { createHash } = process.getBuiltinModule('node:crypto')
  return createHash('sha256')
    .update(JSON.stringify([kind, service, input.form, input.sha256]))
    .digest('hex')
    .slice(0, 24)
}

/** Journals of the same path that held something else then, unless what it holds now has its own. */
function findChanged(folder: string, header: JournalHeader): Found[] {
  if (header.input.name === 'stdin') return []
  const own = `${nameOf(header)}${extension}`
  const entries = readdirSync(folder).filter((entry) => entry.endsWith(extension))
  if (entries.includes(own)) return []
  return entries.flatMap((entry) => {
    const path = join(folder, entry)
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

/**
 * A file that was mended after nothing of it was taken is as good as new.
 *
 * @throws Failure `conflict` where some of it was, and would be sent again
 */
function assertNothingTaken({ path, header }: Found, { input }: JournalHeader, release: () => void): void {
  if (!statesIn({ path, header }, release).mayHaveTaken) return
  throw new Failure('conflict', `${input.name} has changed since it was imported at ${header.at}`, {
    hint: 'Import what is new from a file of its own; --restart sends all of this one, also what is done.',
  })
}

/** What is forgotten can still be looked at, until the next is. */
function retire(path: string): void {
  if (existsSync(path)) renameSync(path, `${path}.old`)
}
