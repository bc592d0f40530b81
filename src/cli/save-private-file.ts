import { mkdtempSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isoNow } from '../system/clock.ts'
import { makePrivateDirectory } from '../system/files/private-directory.ts'
import type { Context } from './context/context.ts'

/** What is kept for a person until they have used it. */
type Kept = 'edits' | 'passwords'

/**
 * Writes a new file for its owner only and flushes it to disk: in the state directory, or in a new
 * temporary directory where that cannot be written.
 *
 * @param extension of the file name, which begins with `name` and the time
 * @returns its path
 * @throws the system's error where neither can be written
 */
export function savePrivateFile(
  { directories, host }: Pick<Context, 'directories' | 'host'>,
  kept: Kept,
  name: string,
  extension: string,
  text: string,
): string {
  const time = isoNow(host.clock).replaceAll(/[:.]/g, '-')
  const places = [
    () => join(directories.state, kept),
    () => mkdtempSync(join(directories.temporary, 'chatctl-')),
  ]
  let trouble: unknown
  for (const place of places) {
    try {
      const path = join(place(), `${name}-${time}-${process.pid}.${extension}`)
      makePrivateDirectory(dirname(path))
      writeFileSync(path, text, { mode: 0o600, flag: 'wx', flush: true })
      return path
    } catch (error) {
      trouble = error
    }
  }
  throw trouble
}
