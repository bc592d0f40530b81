import { rmSync } from 'node:fs'
import { type CollectOptions, collectHistory } from '../client/history/collect-history.ts'
import type { Clock } from '../system/clock.ts'
import type { Directories } from '../system/files/directories.ts'
import { DocumentFile } from '../system/files/document-file.ts'
import { type ExportIdentity, openExportDirectory } from './export-directory.ts'
import { PageStore } from './page-store.ts'
import { type ExportFormat, type Write, type WriteOptions, writeDocument } from './write-document.ts'

export interface ExportOptions
  extends Pick<CollectOptions, 'history' | 'since' | 'onFirstResponse' | 'onPage' | 'onAmbiguousTime'>,
    Pick<WriteOptions, 'onWritten' | 'signal'> {
  format: ExportFormat
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
  /** Called with the number of messages of an interrupted run. */
  onResume(messages: number): void
  /** Called if the messages of an interrupted run cannot be used. */
  onRestart(): void
  /** Called after a failure with the number of messages that are stored for the next run. */
  onKept(messages: number): void
}

/**
 * Downloads the whole history to disk, newest page first, and then writes it, oldest message first. If it ends
 * early, the same export resumes it.
 *
 * @returns the number of written messages
 */
export async function exportHistory(options: ExportOptions): Promise<number> {
  const { to, identity, signal, clock } = options
  const file = to === undefined ? undefined : new DocumentFile(to)
  const directory = openExportDirectory(options.directories, identity, clock)
  if (directory.previousPid !== undefined) file?.removeLeftovers(directory.previousPid)
  const store = new PageStore(directory.path, clock)
  // When the reader closes a pipe, the process ends without unwinding the stack.
  const withdrawCleanup = options.onExit((exitCode) => {
    if (exitCode === 0) rmSync(directory.path, { recursive: true, force: true })
  })
  try {
    if (store.messages > 0) options.onResume(store.messages)
    await collect(options, store)
    const written = await writeDocument({
      ...options,
      context: identity.context,
      store,
      write: file ? (bytes) => file.write(bytes) : options.writeToStdout,
    })
    signal.throwIfAborted()
    await file?.finish()
    store.close()
    rmSync(directory.path, { recursive: true, force: true })
    return written
  } catch (error) {
    await file?.discard()
    if (store.messages > 0 && !options.isStdoutClosed()) {
      store.keep()
      options.onKept(store.messages)
    } else {
      store.close()
      rmSync(directory.path, { recursive: true, force: true })
    }
    throw error
  } finally {
    withdrawCleanup()
  }
}

async function collect(options: ExportOptions, store: PageStore): Promise<void> {
  const collecting = { ...options, context: options.identity.context, store }
  if (await collectHistory(collecting)) return
  options.onRestart()
  store.clear()
  await collectHistory(collecting)
}
