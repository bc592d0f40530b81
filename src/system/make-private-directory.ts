import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Makes a directory for its owner only (0700), with the missing ones above it. Node's `recursive` never
 * returns where the system reports a missing directory in one that exists, as with `HOME=/proc/x`.
 *
 * @throws the system's error where it cannot be made
 */
export function makePrivateDirectory(path: string): void {
  for (const isSecond of [false, true]) {
    try {
      mkdirSync(path, { mode: 0o700 })
      return
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'EEXIST' && statSync(path, { throwIfNoEntry: false })?.isDirectory()) return
      if (isSecond || code !== 'ENOENT' || dirname(path) === path) throw error
      makePrivateDirectory(dirname(path))
    }
  }
}
