import { readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type CollectOptions, collectHistory } from '../client/history/collect-history.ts'
import type { Clock } from '../system/clock.ts'
import type { Directories } from '../system/files/directories.ts'
import { DocumentFile } from '../system/files/document-file.ts'
import { makePrivateDirectory } from '../system/files/private-directory.ts'
import { isRunning } from '../system/is-running.ts'
import { PageStore, unusableExports } from './page-store.ts'
import { type Write, type WriteOptions, type Written, writeDocument } from './write-document.ts'

export interface ExportOptions
  extends Pick<CollectOptions, 'since' | 'onFirstResponse' | 'onPage' | 'onAmbiguousTime'>,
    Pick<WriteOptions, 'format' | 'local' | 'signal'> {
  /** Undefined to export only the local messages, without a request. */
  history: CollectOptions['history'] | undefined
  identity: ExportIdentity
  directories: Directories
  clock: Clock
  /** The file to replace; undefined for stdout. */
  to: string | undefined
  writeToStdout: Write
  /** Whether the reader has closed stdout, so that the export need not be resumable. */
  isStdoutClosed(): boolean
  /** Calls `cleanup` if the process ends before the export. @returns a function that unregisters it */
  onExit(cleanup: (exitCode: number) => void): () => void
  /** Called when all messages of the service are on disk. */
  onCollected(): void
  /** Called with the number of messages of an interrupted run. */
  onResume(messages: number): void
  /** Called if the messages of an interrupted run cannot be used. */
  onRestart(): void
  /** Called after a failure with the number of messages that are stored for the next run. */
  onKept(messages: number): void
}

/**
 * Downloads the whole history to disk, newest page first, and then writes it with the local messages, oldest message
 * first. If it ends early, the same export resumes it.
 */
export async function exportHistory(options: ExportOptions): Promise<Written> {
  const { to, history, identity, signal, clock } = options
  const file = to === undefined ? undefined : new DocumentFile(to)
  const { path = '', previousPid } = history ? openExportFile(options) : {}
  if (previousPid !== undefined) file?.removeLeftovers(previousPid)
  const store = history && new PageStore(path, clock)
  const removePages = () => {
    store?.close()
    if (store) rmSync(path, { force: true })
  }
  // When the reader closes a pipe, the process ends without unwinding the stack.
  const withdrawCleanup = options.onExit((exitCode) => {
    if (exitCode === 0) removePages()
  })
  try {
    if (store) await collect({ ...options, history, context: identity.context, store })
    options.onCollected()
    const written = await writeDocument({
      ...options,
      context: identity.context,
      store,
      write: file ? (bytes) => file.write(bytes) : options.writeToStdout,
    })
    signal.throwIfAborted()
    await file?.finish()
    removePages()
    return written
  } catch (error) {
    await file?.discard()
    if (store && store.messages > 0 && !options.isStdoutClosed()) {
      store.keep()
      options.onKept(store.messages)
    } else removePages()
    throw error
  } finally {
    withdrawCleanup()
  }
}

async function collect(
  options: CollectOptions & Pick<ExportOptions, 'onResume' | 'onRestart'> & { store: PageStore },
): Promise<void> {
  const { store } = options
  if (store.messages > 0) options.onResume(store.messages)
  if (await collectHistory(options)) return
  options.onRestart()
  store.clear()
  await collectHistory(options)
}

/** Pages of another version of chatctl are not used. */
const formatVersion = 2

/** Pages of an interrupted run are deleted after this time, in ms. */
const maxAge = 7 * 86_400_000

/** Identifies an export. Two exports in different formats are the same one. */
interface ExportIdentity {
  /** Base URL; undefined for the embedded service. */
  service: string | undefined
  /** Identifies the user: a profile, a key. */
  owner: readonly string[]
  context: string | undefined
  /** The text of the flag. */
  since: string | undefined
}

/**
 * Opens the file for the pages of a run. Its name ends with the process ID of the run. The file of a process that has
 * ended is taken over, so that concurrent runs never share one.
 * @returns its path, and the process ID of an interrupted run
 * @throws Failure `storage`
 */
function openExportFile({ directories, identity, clock }: ExportOptions) {
  const all = join(directories.state, 'exports')
  const name = nameOf(identity)
  const path = join(all, `${name}-${process.pid}`)
  try {
    makePrivateDirectory(all)
    removeOld(all, clock)
    for (const entry of readdirSync(all)) {
      const pid = Number(entry.slice(name.length + 1))
      if (!entry.startsWith(`${name}-`) || (pid !== process.pid && isRunning(pid))) continue
      if (takeOver(join(all, entry), path)) return { path, previousPid: pid }
    }
    return { path }
  } catch (cause) {
    throw unusableExports(all, cause)
  }
}

/** A digest, because the owner may contain a key. */
function nameOf({ service, owner, context, since }: ExportIdentity): string {
  const { createHash } = process.getBuiltinModule('node:crypto')
  const all = JSON.stringify([formatVersion, service ?? null, owner, context ?? null, since ?? null])
  return createHash('sha256').update(all).digest('hex').slice(0, 24)
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
