import { existsSync, readdirSync, realpathSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { Failure } from '../../contract/failure.ts'
import type { Directories } from '../../system/files/directories.ts'
import { makePrivateDirectory, unusableStateDirectory } from '../../system/files/private-directory.ts'
import { demandProcessLock } from '../../system/files/process-lock.ts'
import { isUnresolved, Journal, type JournalContent, type JournalHeader, readJournal } from './journal.ts'

const extension = '.jsonl'

/** The directory of the journals. */
export function importsDirectory({ state }: Directories): string {
  return join(state, 'imports')
}

/** An import whose journal is opened. */
export interface JournalRequest {
  /** From `importsDirectory`. */
  directory: string
  header: JournalHeader
  /** Names the input: its path, or for stdin a digest of the content. */
  identity: string
  restart: boolean
  /** Whether to create nothing on disk. */
  isDryRun: boolean
}

/**
 * Opens the journal of a file and a service.
 *
 * @throws Failure `conflict` if another process holds the lock; `storage`
 */
function openJournal(request: JournalRequest): Journal {
  const { header, restart, isDryRun } = request
  const path = pathOf(request)
  if (isDryRun && !existsSync(path)) return new Journal({ path, header, restart, release: () => {} })
  return openLocked(path, header, restart)
}

/**
 * Works with a journal, and closes it.
 *
 * @returns what the work returns. The run knows more than a journal that cannot be flushed, so that this failure only
 *   ends it
 */
export async function withJournal<R extends { ended?: unknown }>(
  request: JournalRequest,
  work: (journal: Journal) => Promise<R>,
): Promise<R> {
  const journal = openJournal(request)
  let failure: unknown
  let result: R
  try {
    result = await work(journal)
  } finally {
    failure = await journal.close().catch((error: unknown) => error)
  }
  return { ...result, ended: result.ended ?? failure }
}

function openLocked(path: string, header: JournalHeader, restart = false): Journal {
  const doing = header.kind === 'messages' ? 'sending' : 'importing'
  const message = `Another chatctl process is ${doing} ${header.file}`
  const hint = 'Wait until it ends. Then run the same command to send the rows that are left.'
  let release: (() => void) | undefined
  try {
    makePrivateDirectory(dirname(path))
    release = demandProcessLock(`${path}.lock`, message, { hint })
    return new Journal({ path, header, restart, release })
  } catch (cause) {
    release?.()
    throw cause instanceof Failure ? cause : unusable(dirname(path), cause)
  }
}

/** Reads all journals without their locks, so that running imports are not disturbed. */
function readAll(directory: string): { path: string; content: JournalContent }[] {
  if (!existsSync(directory)) return []
  try {
    const names = readdirSync(directory).filter((name) => name.endsWith(extension))
    return names.flatMap((name) => {
      const path = join(directory, name)
      const content = readIfExists(path)
      return content ? [{ path, content }] : []
    })
  } catch (cause) {
    throw unusable(directory, cause)
  }
}

/** A running import may remove its journal, to begin it anew, after the directory was read. */
function readIfExists(path: string): JournalContent | undefined {
  try {
    return readJournal(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

function pathOf({ directory, header, identity }: JournalRequest): string {
  const { kind, service } = header
  const { createHash } = process.getBuiltinModule('node:crypto')
  const name = createHash('sha256')
    .update(JSON.stringify([kind, service, identity]))
    .digest('hex')
  return join(directory, `${name.slice(0, 24)}${extension}`)
}

function unusable(directory: string, cause: unknown): Failure {
  return unusableStateDirectory(directory, 'a journal there', cause)
}

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

export function findUnfinishedImports(directories: Directories): UnfinishedImport[] {
  return readAll(importsDirectory(directories)).flatMap(({ path, content }) => {
    const { header, states, ended } = content
    if (!header || ended === 'closed') return []
    const { rows, file, kind, service } = header
    const all = [...states.values()]
    const unknown = all.filter(isUnresolved).length
    const isRowOpen = all.some(
      (state) => !isUnresolved(state) && ['intended', 'unsent', 'unknown'].includes(state.phase),
    )
    const isOpen = ended === undefined && (all.length < rows || isRowOpen)
    return isOpen || unknown > 0 ? [{ path, file, kind, service, rows, tried: all.length, unknown }] : []
  })
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
  which: { file: string; kind: string; service: string },
): Promise<UnfinishedImport[]> {
  const { file, kind, service } = which
  const name = file === '-' ? 'stdin' : existsSync(file) ? realpathSync(file) : resolve(file)
  const closed = findUnfinishedImports(directories).filter(
    (found) => found.file === name && found.kind === kind && found.service === service,
  )
  for (const { path } of closed) {
    const { header } = readJournal(path)
    if (!header) continue
    const journal = openLocked(path, header)
    journal.end('closed')
    await journal.close()
  }
  return closed
}
