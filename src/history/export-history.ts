import { readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Run } from '../run/run.ts'
import type { Clock } from '../system/clock.ts'
import { DocumentFile } from '../system/files/document-file.ts'
import { makePrivateDirectory } from '../system/files/private-directory.ts'
import { isRunning } from '../system/is-running.ts'
import { countOf } from '../view/format/quantities.ts'
import { type FetchRun, fetchHistory, type Selection } from './fetch-history.ts'
import { PageStore, unusableExports } from './page-store.ts'
import { type Write, type WriteOptions, type Written, writeDocument } from './write-document.ts'

type ExportRun = FetchRun & Pick<Run, 'clock' | 'contextOwner' | 'directories' | 'knownUser' | 'signal'>

export interface ExportOptions extends Selection, Pick<WriteOptions, 'format' | 'local'> {
  /** Whether the messages of the service are exported. Otherwise, no request is sent. */
  isFetched: boolean
  /** As the user wrote it: the same relative time resumes the export later. */
  sinceText: string | undefined
  /** The credential of the environment, if the service does not tell the user. */
  credential: string | undefined
  /** The file to replace; undefined for stdout. */
  to: string | undefined
  writeToStdout: Write
  /** Whether the reader has closed stdout, so that the export need not be resumable. */
  isStdoutClosed(): boolean
  /** Calls `cleanup` if the process ends before the export. @returns a function that unregisters it */
  onExit(cleanup: (exitCode: number) => void): () => void
  /** Called when all messages of the service are on disk. @param isWhole whether this run has seen all of them */
  onFetched(isWhole: boolean): void
}

/**
 * Downloads the whole history to disk, newest page first, and then writes it with the local messages, oldest message
 * first. If it ends early, the same export of the same user resumes it.
 */
export async function exportHistory(run: ExportRun, options: ExportOptions): Promise<Written> {
  const { to, isFetched } = options
  const file = to === undefined ? undefined : new DocumentFile(to)
  const directory = join(run.directories.state, 'exports')
  if (isFetched) makeExports(directory)
  const { path = '', previousPid } = isFetched ? openExportFile(run, directory, nameOf(run, options)) : {}
  if (previousPid !== undefined) file?.removeLeftovers(previousPid)
  const store = isFetched ? new PageStore(path, run.clock) : undefined
  const removePages = () => {
    store?.close()
    if (store) rmSync(path, { force: true })
  }
  // When the reader closes a pipe, the process ends without unwinding the stack.
  const withdrawCleanup = options.onExit((exitCode) => {
    if (exitCode === 0) removePages()
  })
  try {
    if (store) {
      const { messages } = store
      const mayLack = await fetchHistory(run, store, options)
      // Only now are they known to be a part of it.
      if (messages > 0 && !store.isRestarted)
        run.say(`Resuming after ${countOf(messages, 'message')} of an earlier run.`)
      const isWhole = store.parts.at(-1)?.ending === 'ended' && options.since === undefined
      options.onFetched(isWhole && !mayLack)
    }
    const write = file ? (bytes: Uint8Array) => file.write(bytes) : options.writeToStdout
    const written = await writeDocument({
      since: undefined,
      context: undefined,
      ...options,
      store,
      write,
      signal: run.signal,
    })
    run.signal.throwIfAborted()
    await file?.finish()
    removePages()
    return written
  } catch (error) {
    await file?.discard()
    if (store && store.messages > 0 && !options.isStdoutClosed()) {
      store.keep()
      run.say(`${countOf(store.messages, 'message')} saved. To resume, run the same command.`)
    } else removePages()
    throw error
  } finally {
    withdrawCleanup()
  }
}

/** Pages of another version of chatctl are not used. */
const formatVersion = 2

/** Pages of an interrupted run are deleted after this time, in ms. */
const maxAge = 7 * 86_400_000

/**
 * Opens the file for the pages of a run. Its name ends with the process ID of the run. The file of a process that has
 * ended is taken over, so that concurrent runs never share one.
 * @returns its path, and the process ID of an interrupted run
 * @throws Failure `storage`
 */
function openExportFile({ clock, say }: ExportRun, all: string, name: string) {
  const path = join(all, `${name}-${process.pid}`)
  try {
    removeOld(all, clock)
    const ended = readdirSync(all).filter((entry) => {
      const pid = Number(entry.split('-')[1])
      return pid === process.pid || !isRunning(pid)
    })
    for (const entry of ended) {
      if (!entry.startsWith(name)) continue
      if (takeOver(join(all, entry), path)) return { path, previousPid: Number(entry.split('-')[1]) }
    }
    if (ended.some((entry) => entry.startsWith(name.slice(0, -userLength))))
      say('An interrupted export of another user, or with another key, is not resumed.')
    return { path }
  } catch (cause) {
    throw unusableExports(all, cause)
  }
}

/** Before the first request. @throws Failure `storage` */
function makeExports(directory: string): void {
  try {
    makePrivateDirectory(directory)
  } catch (cause) {
    throw unusableExports(directory, cause)
  }
}

/** At the end of the name of an export, in characters. */
const userLength = 12

/**
 * Identifies an export by the history, the selection, and the user. Two exports in different formats are the same one.
 * Digests, because the user may be a key.
 */
function nameOf(run: ExportRun, { credential, context, sinceText }: ExportOptions): string {
  const { hash } = process.getBuiltinModule('node:crypto')
  const digest = (values: readonly unknown[]) => hash('sha256', JSON.stringify(values))
  const { baseUrl, profile } = run.contextOwner()
  const user = run.knownUser() ?? credential ?? ''
  const common = [formatVersion, baseUrl ?? null, profile ?? null, context ?? null, sinceText ?? null]
  return digest(common).slice(0, 24) + digest([user]).slice(0, userLength)
}

/** @returns false if another run has already taken it over */
function takeOver(left: string, path: string): boolean {
  try {
    renameSync(left, path)
    return true
  } catch {
    return false
  }
}

function removeOld(all: string, clock: Clock): void {
  for (const entry of readdirSync(all)) {
    const path = join(all, entry)
    const stats = statSync(path, { throwIfNoEntry: false })
    if (stats && clock.now() - stats.mtimeMs > maxAge) rmSync(path, { recursive: true, force: true })
  }
}
