import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Directories } from '../system/files/directories.ts'
import { makePrivateDirectory } from '../system/files/private-directory.ts'
import { tryProcessLock } from '../system/files/process-lock.ts'
import { moveFile } from '../system/files/replace-file.ts'
import { SharedLog } from '../system/files/shared-log.ts'

/** Number of files, the current one included. */
const files = 4

/** Size in bytes at which the next run begins a new file. */
const defaultMaxBytes = 16 * 1024 * 1024

/** The files of the log, the current one first. */
export function activityFiles(directory: string): string[] {
  return Array.from({ length: files }, (_, age) =>
    join(directory, age === 0 ? 'activity.jsonl' : `activity.${age}.jsonl`),
  )
}

/** The lines of the log from the last to the first, in memory for one file at a time. */
export function* readActivityBackward(directory: string): Generator<string> {
  for (const path of activityFiles(directory)) {
    if (!existsSync(path)) continue
    const lines = readFileSync(path, 'utf8').split('\n')
    for (let line = lines.pop(); line !== undefined; line = lines.pop()) if (line !== '') yield line
  }
}

/**
 * Appends to the activity record, which several processes may do at the same time. A run writes to one file, so that
 * the outcome of a change is never before the change. The first run that finds the file too large begins a new one.
 */
export class ActivityLog {
  readonly #directories: Directories
  readonly #maxBytes: number
  #log: SharedLog | undefined

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
    this.#log ??= this.#open()
    this.#log.append(text)
  }

  close(): void {
    this.#log?.close()
    this.#log = undefined
  }

  #open(): SharedLog {
    const { state } = this.#directories
    makePrivateDirectory(state)
    const [current = ''] = activityFiles(state)
    if (this.#isTooLarge(current)) this.#rotate(state, current)
    return new SharedLog(current)
  }

  #isTooLarge(path: string): boolean {
    return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) >= this.#maxBytes
  }

  /** If another process is doing it, the file grows a little more. */
  #rotate(state: string, current: string): void {
    const release = tryProcessLock(`${current}.lock`)
    try {
      if (!release || !this.#isTooLarge(current)) return
      const paths = activityFiles(state)
      for (let age = paths.length - 1; age > 0; age--) {
        const [from = '', to = ''] = paths.slice(age - 1, age + 1)
        if (existsSync(from)) moveFile(from, to)
      }
    } finally {
      release?.()
    }
  }
}
