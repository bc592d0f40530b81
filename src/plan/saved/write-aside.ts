import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/**
 * Replaces a file as a whole, 0600: it is there with all of the text, or as it was.
 *
 * @throws Error of the system
 */
export function writeAside(path: string, text: string): void {
  const aside = join(dirname(path), `.${basename(path)}.${process.pid}.part`)
  try {
    // What another process with this id has left may be anybody's to read.
    rmSync(aside, { force: true })
    const file = openSync(aside, 'wx', 0o600)
    try {
      const bytes = Buffer.from(text)
      for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    renameSync(aside, path)
  } catch (error) {
    rmSync(aside, { force: true })
    throw error
  }
}
