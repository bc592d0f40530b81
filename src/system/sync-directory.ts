import { closeSync, fsyncSync, openSync } from 'node:fs'

/** A file that is new in its folder is safe only when the folder's entry is. */
export function syncDirectory(folder: string): void {
  try {
    const descriptor = openSync(folder, 'r')
    fsyncSync(descriptor)
    closeSync(descriptor)
  } catch {
    // Windows opens no folders.
  }
}
