import { accessSync, constants, realpathSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'
import { Failure } from '../../contract/failure.ts'
import type { Input } from '../input/input.ts'
import type { Journal } from '../journal/journal.ts'

/** What a file beside the input lists: rows that failed, or rows whose outcome is unknown. */
export type RowListName = 'failed' | 'unknown'

/** Rows that are written to such a file. */
export abstract class RowList {
  /** Whether there is anything to write. */
  abstract readonly isNeeded: boolean
  /** Why there is no file; `storage`. */
  trouble: Failure | undefined
  abstract finish(): Promise<void>
  abstract discard(): Promise<void>

  /** Does some of the writing. After a failure there is no file, and the import goes on without it. */
  protected async guard(work: () => Promise<void>): Promise<void> {
    if (this.trouble) return
    try {
      await work()
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      this.trouble = error
      await this.discard()
    }
  }
}

/** Where the rows go: the first place, or the next one where somebody has begun to edit those. */
export function rowListPath(list: RowListName, input: Input, journal: Journal): string {
  for (let number = 1; ; number++) {
    const place = rowListPlace(list, input, number)
    if (markOf(place) === undefined || isOurs(list, place, journal)) return place
  }
}

/**
 * `users.failed.csv` beside `users.csv`; in the working directory where the directory of that one
 * cannot be written, or for what came through a pipe. Links are followed.
 */
export function rowListPlace(list: RowListName, { path = 'stdin', format }: Input, number = 1): string {
  const extension = extname(path)
  const isBeside = path !== 'stdin' && isWritable(dirname(path))
  const count = number === 1 ? '' : `-${number}`
  // Failed rows are given again in the format of the input.
  const ownExtension = list === 'failed' ? extension || `.${format}` : '.csv'
  const name = `${basename(path, extension)}.${list}${count}${ownExtension}`
  return join(isBeside ? dirname(path) : realpathSync('.'), name)
}

/** One that an earlier run has left is removed where there is nothing to list any more. */
export async function keepRowList(
  list: RowListName,
  rows: RowList,
  path: string,
  journal: Journal,
): Promise<void> {
  if (!rows.isNeeded) {
    await rows.discard()
    if (isOurs(list, path, journal)) rmSync(path, { force: true })
    return
  }
  await rows.finish()
  const mark = rows.trouble ? undefined : markOf(path)
  if (mark !== undefined) journal.noteFile({ type: `${list}_rows`, path, mark })
}

/** Whether it is as this import has left it. */
function isOurs(list: RowListName, path: string, journal: Journal): boolean {
  const last = journal.fileOf(`${list}_rows`)
  return last?.path === path && last.mark !== undefined && last.mark === markOf(path)
}

/** Undefined where there is nothing, or nothing can be. */
function markOf(path: string): string | undefined {
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
