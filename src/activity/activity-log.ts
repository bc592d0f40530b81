import { closeSync, constants, fstatSync, openSync, readSync, renameSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Directories } from '../system/directories.ts'
import { makePrivateDirectory } from '../system/private-directory.ts'
import { tryProcessLock } from '../system/process-lock.ts'

/** Number of files, the current one included. */
const files = 4
const defaultMaxBytes = 16 * 1024 * 1024

interface OpenFile {
  descriptor: number
  size: number
}

/** The files of the log, the current one first. */
export function activityFiles(directory: string): string[] {
  return Array.from({ length: files }, (_, age) =>
    join(directory, age === 0 ? 'activity.jsonl' : `activity.${age}.jsonl`),
  )
}

/**
 * Appends to the log of changes, which several processes may do at the same time: each call of `append` is one
 * write with O_APPEND, and one process at a time replaces a file that has become too large.
 */
export class ActivityLog {
  readonly #directories: Directories
  readonly #maxBytes: number
  #descriptor: number | undefined
  #canRotate = true

  /** @param maxBytes size at which a new file is begun */
  constructor(directories: Directories, maxBytes = defaultMaxBytes) {
    this.#directories = directories
    this.#maxBytes = maxBytes
  }

  /**
   * Hands whole lines to the operating system.
   *
   * @throws Error of the system; Failure `config` if the user has no home directory
   */
  append(text: string): void {
    const descriptor = this.#openCurrent()
    const bytes = Buffer.from(isTorn(descriptor) ? `\n${text}` : text)
    const written = writeSync(descriptor, bytes)
    if (written < bytes.length) throw new Error('not enough space for the whole line')
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor)
    this.#descriptor = undefined
  }

  /**
   * The file to write to. A process never goes back to an older file, so that the outcome of a change is never
   * before the change.
   */
  #openCurrent(): number {
    const current = this.#current() ?? this.#open()
    if (current.size < this.#maxBytes) return current.descriptor
    this.#rotate()
    return (this.#current() ?? this.#open()).descriptor
  }

  /** The open file, unless another process has replaced it, or it was removed. */
  #current(): OpenFile | undefined {
    const descriptor = this.#descriptor
    if (descriptor === undefined) return undefined
    const { ino, size } = fstatSync(descriptor)
    if (ino === inodeOf(this.#path)) return { descriptor, size }
    this.close()
    return undefined
  }

  /** @throws Failure `config` if the user has no home directory */
  get #path(): string {
    return activityFiles(this.#directories.state)[0] ?? ''
  }

  #open(): OpenFile {
    makePrivateDirectory(this.#directories.state)
    // Windows has no O_NOFOLLOW.
    const { O_APPEND, O_CREAT, O_RDWR, O_NOFOLLOW = 0 } = constants
    const descriptor = openSync(this.#path, O_APPEND | O_CREAT | O_RDWR | O_NOFOLLOW, 0o600)
    this.#descriptor = descriptor
    return { descriptor, size: fstatSync(descriptor).size }
  }

  /** If another process is doing it, or it fails, the file grows a little more. */
  #rotate(): void {
    if (!this.#canRotate) return
    let release: (() => void) | undefined
    try {
      release = tryProcessLock(`${this.#path}.lock`)
      if (!release || !this.#current()) return
      this.close()
      const paths = activityFiles(this.#directories.state)
      for (let age = paths.length - 1; age > 0; age--) {
        const [from = '', to = ''] = paths.slice(age - 1, age + 1)
        if (inodeOf(from) !== undefined) renameSync(from, to)
      }
    } catch {
      this.#canRotate = false
    } finally {
      release?.()
    }
  }
}

function inodeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino
}

/** Whether the file ends within a line, as after a write to a full disk. */
function isTorn(descriptor: number): boolean {
  const { size } = fstatSync(descriptor)
  if (size === 0) return false
  const last = Buffer.alloc(1)
  readSync(descriptor, last, 0, 1, size - 1)
  return last[0] !== 0x0a
}
