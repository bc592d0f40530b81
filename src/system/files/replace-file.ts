import { closeSync, fsyncSync, openSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { Failure } from '../../contract/failure.ts'
import { describeSystemError } from '../describe-system-error.ts'

/**
 * Replaces a file atomically, with mode 0600: a reader sees either the old or the new content. A symbolic
 * link at the path is replaced, not followed.
 * @param flush whether the new content must survive a power failure
 * @throws the system's error; the file is unchanged then
 */
export function replaceFile(path: string, content: string | Uint8Array, { flush }: { flush: boolean }): void {
  const temporary = temporaryPath(path)
  // Exclusive, so that a file or link planted by another user is not written to.
  const descriptor = openSync(temporary, 'wx', 0o600)
  try {
    try {
      writeFileSync(descriptor, content)
      if (flush) fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
    moveFile(temporary, path)
  } catch (error) {
    removeQuietly(temporary)
    throw error
  }
  if (flush) syncDirectory(dirname(path))
}

/**
 * The path of a temporary file in the directory of a file. It contains a random part, because processes in
 * two containers with a shared directory may have the same process ID.
 */
export function temporaryPath(path: string): string {
  const random = Math.random().toString(36).slice(2, 10)
  return join(dirname(path), `.${basename(path)}.${process.pid}-${random}.part`)
}

/** Renames a flushed file, then flushes the directory. */
export function moveIntoPlace(temporary: string, path: string): void {
  moveFile(temporary, path)
  syncDirectory(dirname(path))
}

/** Pauses before the attempts after the first one, in ms: 1.3 s in all. A virus scanner is done in less. */
const pauses = [10, 20, 40, 80, 160, 320, 640]

/** What to do about an error that Windows reports while another program has the file open. */
export function hintOfOpenFile(error: unknown, platform = process.platform): string | undefined {
  const isOpen = ['EPERM', 'EACCES', 'EBUSY'].includes((error as NodeJS.ErrnoException).code ?? '')
  return platform === 'win32' && isOpen
    ? 'The file may be read-only (attrib -R removes that), or another program may have it open, such as an editor, a virus scanner, or a program that synchronizes or backs up files.'
    : undefined
}

/**
 * Renames a file, over another one if there is one. Windows refuses that while another program has the file
 * open, so there it is tried again for a moment.
 * @param pause blocks this thread
 * @throws Failure `storage` if Windows still refuses it; the system's error otherwise
 */
export function moveFile(from: string, to: string, platform = process.platform, pause = blockThread): void {
  for (let attempt = 0; ; attempt++) {
    try {
      renameSync(from, to)
      return
    } catch (cause) {
      const hint = hintOfOpenFile(cause, platform)
      if (hint === undefined) throw cause
      const ms = pauses[attempt]
      if (ms === undefined) {
        throw new Failure('storage', `Cannot replace ${to}: ${describeSystemError(cause)}`, { hint, cause })
      }
      pause(ms)
    }
  }
}

function blockThread(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

/** Removes the temporary files of killed writers. @param pid process ID of the writer (default: all) */
export function removeLeftovers(path: string, pid?: number): void {
  const start = `.${basename(path)}.`
  for (const name of readdirSync(dirname(path))) {
    if (!name.startsWith(start)) continue
    const [, writer] = /^(\d+)-\w+\.part$/.exec(name.slice(start.length)) ?? []
    if (writer === undefined || (pid !== undefined && Number(writer) !== pid)) continue
    rmSync(join(dirname(path), name), { force: true })
  }
}

/** A new or renamed file survives a power failure only if its directory entry is flushed too. */
export function syncDirectory(directory: string): void {
  let descriptor: number | undefined
  try {
    descriptor = openSync(directory, 'r')
    fsyncSync(descriptor)
  } catch {
    // Windows cannot open directories, and some file systems cannot flush them.
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

/** For cleaning up: a file that cannot be removed stays. */
export function removeQuietly(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch {}
}
