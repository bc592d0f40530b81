import { rmSync } from 'node:fs'
import type { Clock } from '../system/clock.ts'
import type { Directories } from '../system/directories.ts'
import { DocumentFile } from '../system/document-file.ts'
import { type Collecting, collectHistory } from './collect-history.ts'
import { type ExportIdentity, openExportDirectory } from './export-directory.ts'
import { PageStore } from './page-store.ts'
import { type ExportFormat, type Write, type Writing, writeDocument } from './write-document.ts'

export interface Export
  extends Pick<Collecting, 'history' | 'since' | 'onFirstAnswer' | 'onPage' | 'onUnsure'>,
    Pick<Writing, 'onWritten' | 'signal'> {
  format: ExportFormat
  identity: ExportIdentity
  directories: Directories
  clock: Clock
  /** The file to replace; undefined for stdout. */
  to: string | undefined
  writeToStdout: Write
  /** Whether the reader of stdout has seen enough, so that nothing is to be kept. */
  hasReadEnough(): boolean
  /** Calls `cleanup` where the process ends before the export does; returns what withdraws it. */
  onExit(cleanup: (exitCode: number) => void): () => void
  /** Is told how many messages an earlier run has left. */
  onGoingOn(messages: number): void
  /** Is told that what an earlier run has left is of no use any more. */
  onStartingAgain(): void
  /** Is told how many messages are kept for the next run when this one fails. */
  onKept(messages: number): void
}

/**
 * Brings the whole history to disk, newest page first, and writes it, oldest first, when it is
 * whole. Whatever ends it before that leaves what the same export goes on from.
 *
 * @returns how many messages were written
 */
export async function exportHistory(options: Export): Promise<number> {
  const { to, identity, signal, clock } = options
  const file = to === undefined ? undefined : new DocumentFile(to)
  const directory = openExportDirectory(options.directories, identity, clock)
  if (directory.leftBy !== undefined) file?.removeLeftovers(directory.leftBy)
  const store = new PageStore(directory.path, clock)
  // Also where the reader of a pipe has had enough, which ends the program at once.
  const withdrawCleanup = options.onExit((exitCode) => {
    if (exitCode === 0) rmSync(directory.path, { recursive: true, force: true })
  })
  try {
    if (store.messages > 0) options.onGoingOn(store.messages)
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
    store.close()
    if (store.messages > 0 && !options.hasReadEnough()) options.onKept(store.messages)
    else rmSync(directory.path, { recursive: true, force: true })
    throw error
  } finally {
    withdrawCleanup()
  }
}

async function collect(options: Export, store: PageStore): Promise<void> {
  const collecting = { ...options, context: options.identity.context, store }
  if (await collectHistory(collecting)) return
  options.onStartingAgain()
  store.clear()
  await collectHistory(collecting)
}
