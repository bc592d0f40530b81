import { closeSync, constants, existsSync, fstatSync, openSync, readSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Directories } from '../system/files/directories.ts'
import { makePrivateDirectory } from '../system/files/private-directory.ts'
import { tryProcessLock } from '../system/files/process-lock.ts'
import { moveFile } from '../system/files/replace-file.ts'

/** Number of files, the current one included. */
const files = 4

/** When another file is used. */
interface Limits {
  /** Size at which a new file is begun. */
  maxBytes: number
  /** Number of writes after which a file that another process has replaced, or that was removed, is noticed. */
  checkAfter: number
}

const defaultLimits: Limits = { maxBytes: 16 * 1024 * 1024, checkAfter: 32 }

interface OpenFile {
  descriptor: number
  inode: number
  /** At the last check, and what this process has written since. */
  size: number
  /** Number of writes since the last check. */
  writes: number
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
  readonly #limits: Limits
  #knownPath: string | undefined
  #file: OpenFile | undefined
  #canRotate = true

  constructor(directories: Directories, limits = defaultLimits) {
    this.#directories = directories
    this.#limits = limits
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
    file.size += written
    file.writes++
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
    const { maxBytes, checkAfter } = this.#limits
    const known = this.#file
    if (known && known.writes < checkAfter && known.size < maxBytes) return known
    this.#check()
    const file = this.#file ?? this.#open()
    if (file.size < maxBytes) return file
    this.#rotate()
    return this.#file ?? this.#open()
  }

  /** Closes the file if another process has replaced it, or it was removed. */
  #check(): void {
    if (!this.#file) return
    const { ino, size = 0 } = statSync(this.#path, { throwIfNoEntry: false }) ?? {}
    if (ino === this.#file.inode) Object.assign(this.#file, { size, writes: 0 })
    else this.close()
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
    this.#file = { descriptor, inode, size, writes: 0, isTorn: size > 0 && !endsInNewline(descriptor, size) }
    return this.#file
  }

  /** If another process is doing it, or it fails, the file grows a little more. */
  #rotate(): void {
    if (!this.#canRotate) return
    let release: (() => void) | undefined
    try {
      release = tryProcessLock(`${this.#path}.lock`)
      if (!release) return
      this.#check()
      if (!this.#file) return
      this.close()
      const paths = activityFiles(this.#directories.state)
      for (let age = paths.length - 1; age > 0; age--) {
        const [from = '', to = ''] = paths.slice(age - 1, age + 1)
        if (existsSync(from)) moveFile(from, to)
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
