import { rmSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure } from '../../contract/failure.ts'
import { describeSystemError } from '../../system/describe-system-error.ts'
import { makePrivateDirectory } from '../../system/private-directory.ts'
import { unlessAborted } from '../../system/unless-aborted.ts'

export interface OpenFile {
  handle: FileHandle
  /** Removes it where that had to wait until it is closed, as it has on Windows. */
  remove(): void
}

/**
 * Keeps what comes only once in a file without a name, which ends with the process however that
 * ends: there may be passwords in it.
 *
 * @throws Failure `storage`; the signal's reason when that comes first
 */
export async function spool(
  source: AsyncIterable<Uint8Array>,
  directory: string,
  signal: AbortSignal,
): Promise<OpenFile> {
  const path = join(directory, `spool-${process.pid}-${Math.random().toString(36).slice(2)}`)
  const handle = await guard(directory, async () => {
    makePrivateDirectory(directory)
    return open(path, 'wx+', 0o600)
  })
  const isRemoved = process.platform !== 'win32'
  const remove = (): void => rmSync(path, { force: true })
  try {
    if (isRemoved) remove()
    const chunks = source[Symbol.asyncIterator]()
    for (;;) {
      const { value: chunk, done } = await unlessAborted(chunks.next(), signal)
      if (done) break
      await guard(directory, async () => {
        for (let at = 0; at < chunk.length; ) at += (await handle.write(chunk, at)).bytesWritten
      })
    }
  } catch (error) {
    await handle.close()
    remove()
    throw error
  }
  return { handle, remove: isRemoved ? () => {} : remove }
}

async function guard<T>(directory: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    throw new Failure('storage', `Cannot use the directory ${directory}: ${describeSystemError(cause)}`, {
      hint: 'chatctl stores piped input there while it runs. To use another directory, set XDG_STATE_HOME.',
      cause,
    })
  }
}
