import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  readSync,
  renameSync,
  statSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import type { Directories } from '../system/directories.ts'
import { makePrivateDirectory } from '../system/private-directory.ts'
import { tryProcessLock } from '../system/process-lock.ts'

/** Number of files, the current one included. */
const files = 4
const defaultMaxBytes = 16 * 1024 * 1024

interface OpenFile {
  descriptor: number
  inode: number
  /** Whether the file may end within a line, as after a write to a full disk. */
  isTorn: boolean
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
  #knownPath: string | undefined
  #file: OpenFile | undefined
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
    const file = this.#openCurrent()
    const bytes = Buffer.from(file.isTorn ? `\n${text}` : text)
    // Until the write has succeeded, a part of the line may be in the file.
    file.isTorn = true
    const written = writeSync(file.descriptor, bytes)
    if (written < bytes.length) throw new Error('not enough space for the whole line')
    file.isTorn = false
  }

  close(): void {
    if (this.#file) closeSync(this.#file.descriptor)
    this.#file = undefined
  }

  /**
   * The file to write to. A process never goes back to an older file, so that the outcome of a change is never
   * before the change.
   */
  #openCurrent(): OpenFile {
    const size = this.#current()
    const file = this.#file ?? this.#open()
    if ((size ?? fstatSync(file.descriptor).size) < this.#maxBytes) return file
    this.#rotate()
    return this.#file ?? this.#open()
  }

  /** The size of the open file. Undefined if there is none, another process has replaced it, or it was removed. */
  #current(): number | undefined {
    if (!this.#file) return undefined
    const { ino, size } = statSync(this.#path, { throwIfNoEntry: false }) ?? {}
    if (ino === this.#file.inode) return size
    this.close()
    return undefined
  }

  /** @throws Failure `config` if the user has no home directory */
  get #path(): string {
    this.#knownPath ??= activityFiles(this.#directories.state)[0] ?? ''
    return this.#knownPath
  }

  #open(): OpenFile {
    makePrivateDirectory(this.#directories.state)
    // Windows has no O_NOFOLLOW.
    const { O_APPEND, O_CREAT, O_RDWR, O_NOFOLLOW = 0 } = constants
    const descriptor = openSync(this.#path, O_APPEND | O_CREAT | O_RDWR | O_NOFOLLOW, 0o600)
    const { ino: inode, size } = fstatSync(descriptor)
    this.#file = { descriptor, inode, isTorn: size > 0 && !endsInNewline(descriptor, size) }
    return this.#file
  }

  /** If another process is doing it, or it fails, the file grows a little more. */
  #rotate(): void {
    if (!this.#canRotate) return
    let release: (() => void) | undefined
    try {
      release = tryProcessLock(`${this.#path}.lock`)
      if (!release || this.#current() === undefined) return
      this.close()
      const paths = activityFiles(this.#directories.state)
      for (let age = paths.length - 1; age > 0; age--) {
        const [from = '', to = ''] = paths.slice(age - 1, age + 1)
        if (existsSync(from)) renameSync(from, to)
      }
    } catch {
      this.#canRotate = false
    } finally {
      release?.()
    }
  }
}

function endsInNewline(descriptor: number, size: number): boolean {
  const last = Buffer.alloc(1)
  readSync(descriptor, last, 0, 1, size - 1)
  return last[0] === 0x0a
}
