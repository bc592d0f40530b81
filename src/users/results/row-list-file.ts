import { accessSync, constants, realpathSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'
import { Failure } from '../../contract/failure.ts'
import type { Input } from '../input/input.ts'
import type { Journal } from '../journal/journal.ts'

/** The content of a file beside the input: failed rows, or rows whose outcome is unknown. */
export type RowListName = 'failed' | 'unknown'

/** A writer of such a file. */
export abstract class RowList {
  /** Whether there is anything to write. */
  abstract readonly isNeeded: boolean
  /** The `storage` failure because of which there is no file. */
  failure: Failure | undefined
  abstract finish(): Promise<void>
  abstract discard(): Promise<void>

  /** Runs a part of the writing. After a failure, the import continues without the file. */
  protected async guard(work: () => Promise<void>): Promise<void> {
    if (this.failure) return
    try {
      await work()
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      this.failure = error
      await this.discard()
    }
  }
}

/** The path of the file: the first numbered one that does not exist, or that the user has not edited. */
export function rowListPath(list: RowListName, input: Input, journal: Journal): string {
  for (let number = 1; ; number++) {
    const path = numberedRowListPath(list, input, number)
    if (fingerprintOf(path) === undefined || isOwnFile(list, path, journal)) return path
  }
}

/**
 * `users.failed.csv` beside `users.csv`. In the working directory for a pipe, or if the directory of the input
 * is not writable.
 */
export function numberedRowListPath(
  list: RowListName,
  { path = 'stdin', format }: Input,
  number = 1,
): string {
  const extension = extname(path)
  const isBeside = path !== 'stdin' && isWritable(dirname(path))
  const count = number === 1 ? '' : `-${number}`
  // Failed rows are written in the format of the input.
  const ownExtension = list === 'failed' ? extension || `.${format}` : '.csv'
  const name = `${basename(path, extension)}.${list}${count}${ownExtension}`
  return join(isBeside ? dirname(path) : realpathSync('.'), name)
}

/** Completes the file. If there is nothing to list, removes the file of an earlier run. */
export async function finishRowList(
  list: RowListName,
  rows: RowList,
  path: string,
  journal: Journal,
): Promise<void> {
  if (!rows.isNeeded) {
    await rows.discard()
    if (isOwnFile(list, path, journal)) rmSync(path, { force: true })
    return
  }
  await rows.finish()
  const mark = rows.failure ? undefined : fingerprintOf(path)
  if (mark !== undefined) journal.noteFile({ type: `${list}_rows`, path, mark })
}

/** Whether this import wrote the file, and it was not changed since. */
function isOwnFile(list: RowListName, path: string, journal: Journal): boolean {
  const last = journal.fileOf(`${list}_rows`)
  return last?.path === path && last.mark !== undefined && last.mark === fingerprintOf(path)
}

/** @returns undefined if the file does not exist or is not accessible */
function fingerprintOf(path: string): string | undefined {
  try {
    const { size, mtimeMs } = statSync(path)
    return `${size} ${mtimeMs}`
  } catch {
    return undefined
  }
}

function isWritable(directory: string): boolean {
  try {
    accessSync(directory, constants.W_OK)
    return true
  } catch {
    return false
  }
}
