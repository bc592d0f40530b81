import { accessSync, constants, realpathSync, rmSync, statSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Failure } from '../../contract/failure.ts'
import { systemFailure } from '../describe-system-error.ts'
import { demandProcessLock } from './process-lock.ts'
import { moveIntoPlace, removeLeftovers, temporaryPath } from './replace-file.ts'

/**
 * A file that the user named. Its content is written in parts to a temporary file, which replaces the file
 * when complete. A device or a pipe is written to directly.
 */
export class DocumentFile {
  readonly path: string
  readonly #isRegular: boolean
  readonly #temporary: string
  readonly #mode: number
  #handle: FileHandle | undefined

  /** @param mode of the new file @throws Failure `storage` if the file is known to be not writable */
  constructor(path: string, { mode = 0o600 }: { mode?: number | undefined } = {}) {
    this.path = path
    this.#mode = mode
    const found = this.#guardSync(() => statSync(path, { throwIfNoEntry: false }))
    if (found?.isDirectory()) {
      throw new Failure('storage', `${path} is a directory`, { hint: 'Give the path of a file.' })
    }
    this.#isRegular = found === undefined || found.isFile()
    // The target of a symbolic link is replaced, not the link.
    if (found?.isFile()) this.path = realpathSync(path)
    this.#temporary = temporaryPath(this.path)
    this.#guardSync(() => accessSync(this.#isRegular ? dirname(this.path) || '.' : path, constants.W_OK))
  }

  /**
   * Keeps other chatctl processes that lock the file from writing it. Does nothing for a device or a pipe.
   * @returns ends it
   * @throws Failure `conflict` if another process holds the lock; `storage`
   */
  lock(): () => void {
    if (!this.#isRegular) return () => {}
    const message = `Another chatctl process is writing ${this.path}`
    const hint = 'Wait until it ends, or choose another file. Then run the same command again.'
    return this.#guardSync(() => demandProcessLock(`${this.path}.lock`, message, { hint }))
  }

  /** Removes the temporary files of killed processes. */
  removeLeftovers(pid: number): void {
    try {
      if (this.#isRegular) removeLeftovers(this.path, pid)
    } catch {
      // A directory can be writable without being readable.
    }
  }

  async write(bytes: Uint8Array): Promise<void> {
    await this.#guard(async () => {
      this.#handle ??= await this.#open()
      for (let at = 0; at < bytes.length; ) {
        at += (await this.#handle.write(bytes, at)).bytesWritten
      }
    })
  }

  /** Replaces the file by the new content. */
  async finish(): Promise<void> {
    await this.write(new Uint8Array())
    await this.#guard(async () => {
      if (this.#isRegular) await this.#handle?.sync()
      await this.#handle?.close()
      this.#handle = undefined
      if (this.#isRegular) moveIntoPlace(this.#temporary, this.path)
    })
  }

  /** Discards the new content and keeps the file. */
  async discard(): Promise<void> {
    await this.#handle?.close().catch(() => {})
    this.#handle = undefined
    if (this.#isRegular) rmSync(this.#temporary, { force: true })
  }

  async #open(): Promise<FileHandle> {
    if (!this.#isRegular) return open(this.path, 'w')
    const handle = await open(this.#temporary, 'wx', 0o600)
    if (this.#mode !== 0o600) await handle.chmod(this.#mode)
    return handle
  }

  #guardSync<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      throw this.#failure(error)
    }
  }

  async #guard(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      throw this.#failure(error)
    }
  }

  #failure(cause: unknown): Failure {
    if (cause instanceof Failure) return cause
    return systemFailure(`Cannot write ${this.path}`, cause)
  }
}

/** @throws Failure `storage` if the file cannot be written; it is unchanged then */
export async function replaceDocument(path: string, text: string): Promise<void> {
  const file = new DocumentFile(path)
  try {
    await file.write(Buffer.from(text))
    await file.finish()
  } catch (error) {
    await file.discard()
    throw error
  }
}
