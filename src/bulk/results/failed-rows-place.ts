import { accessSync, constants, realpathSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'
import type { Input } from '../input/input.ts'
import type { Journal } from '../journal/journal.ts'
import type { FailedRows } from './failed-rows.ts'

/** Where the failed rows go: the first place, or the next one where somebody has begun to mend those. */
export function failedRowsPath(input: Input, journal: Journal): string {
  for (let number = 1; ; number++) {
    const place = failedRowsPlace(input, number)
    if (markOf(place) === undefined || isOurs(place, journal)) return place
  }
}

/**
 * `users.failed.csv` beside `users.csv`; in the folder in which one stands where that one is not
 * for writing, or for what came through a pipe. Links are followed.
 */
export function failedRowsPlace({ path = 'stdin', form }: Input, number = 1): string {
  const extension = extname(path)
  const isBeside = path !== 'stdin' && isWritable(dirname(path))
  const count = number === 1 ? '' : `-${number}`
  const name = `${basename(path, extension)}.failed${count}${extension || `.${form}`}`
  return join(isBeside ? dirname(path) : realpathSync('.'), name)
}

/** One that an earlier run has left is removed where nothing has failed any more. */
export async function keepFailedRows(failed: FailedRows, path: string, journal: Journal): Promise<void> {
  if (failed.count === 0) {
    await failed.discard()
    if (isOurs(path, journal)) rmSync(path, { force: true })
    return
  }
  await failed.finish()
  const mark = failed.trouble ? undefined : markOf(path)
  if (mark !== undefined) journal.noteFile({ type: 'failed_rows', path, mark })
}

/** Whether it is as this import has left it. */
function isOurs(path: string, journal: Journal): boolean {
  const last = journal.fileOf('failed_rows')
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

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}
