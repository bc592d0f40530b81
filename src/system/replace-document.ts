import { accessSync, constants, realpathSync, rmSync, statSync } from 'node:fs'
import { type FileHandle, open, rename } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Failure } from '../contract/failure.ts'
import { describeSystemError } from './describe-system-error.ts'
import { syncDirectory } from './sync-directory.ts'

/**
 * A file that is replaced when its new content is whole, and not before. What is no regular file,
 * such as a device or a pipe, is written to as it is.
 */
export class DocumentFile {
  readonly path: string
  readonly #isRegular: boolean
  #handle: FileHandle | undefined

  /** @throws Failure `storage` where it cannot be written, as far as that can be known before */
  constructor(path: string) {
    this.path = path
    const found = this.#guardSync(() => statSync(path, { throwIfNoEntry: false }))
    if (found?.isDirectory()) {
      throw new Failure('storage', `${path} is a folder`, { hint: 'Name a file in it.' })
    }
    this.#isRegular = found === undefined || found.isFile()
    // What a link leads to is replaced, not the link.
    if (found?.isFile()) this.path = realpathSync(path)
    this.#guardSync(() => accessSync(this.#isRegular ? dirname(this.path) || '.' : path, constants.W_OK))
  }

  /** Removes what a process that was killed has left beside the file. */
  removeLeftover(pid: number): void {
    if (this.#isRegular) rmSync(this.#aside(pid), { force: true })
  }

  async write(bytes: Uint8Array): Promise<void> {
    await this.#guard(async () => {
      this.#handle ??= await this.#open()
      for (let at = 0; at < bytes.length; ) {
        at += (await this.#handle.write(bytes, at)).bytesWritten
      }
    })
  }

  /** Puts the new content in its place. */
  async finish(): Promise<void> {
    await this.write(new Uint8Array())
    await this.#guard(async () => {
      if (this.#isRegular) await this.#handle?.sync()
      await this.#handle?.close()
      this.#handle = undefined
      if (!this.#isRegular) return
      await rename(this.#aside(), this.path)
      syncDirectory(dirname(this.path))
    })
  }

  /** Leaves what was there before. */
  async discard(): Promise<void> {
    await this.#handle?.close().catch(() => {})
    if (this.#isRegular) rmSync(this.#aside(), { force: true })
  }

  #open(): Promise<FileHandle> {
    if (!this.#isRegular) return open(this.path, 'w')
    // What another process with this id has left may be anybody's to read, or lead elsewhere.
    rmSync(this.#aside(), { force: true })
    return open(this.#aside(), 'wx', 0o600)
  }

  #aside(pid = process.pid): string {
    return join(dirname(this.path), `.${basename(this.path)}.${pid}.part`)
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
    return new Failure('storage', `${this.path} cannot be written: ${describeSystemError(cause)}`, { cause })
  }
}

/** @throws Failure `storage` where it cannot be written: what was there before is left */
export async function replaceFile(path: string, text: string): Promise<void> {
  const file = new DocumentFile(path)
  try {
    await file.write(Buffer.from(text))
    await file.finish()
  } catch (error) {
    await file.discard()
    throw error
  }
}
