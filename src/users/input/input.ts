import { type BigIntStats, realpathSync, rmSync } from 'node:fs'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure } from '../../contract/failure.ts'
import { describeSystemError } from '../../system/describe-system-error.ts'
import { makePrivateDirectory, unusableStateDirectory } from '../../system/files/private-directory.ts'
import { unlessAborted } from '../../system/unless-aborted.ts'
import { formatOfExtension, formatOfText, type InputFormat } from './input-format.ts'

/** Bytes per read. */
const readSize = 64 * 1024

/**
 * Bytes per chunk. All rows of a chunk are in memory at the same time: for a million rows of CSV, the maximum
 * memory was 158 MB, and 322 MB with chunks of 256 KiB. An empty run needs 95 MB.
 */
const chunkSize = 16 * 1024

/** Bytes from which the format is detected. */
const sampleSize = 4096

/** A file of rows, or the spooled content of a pipe. It can be read several times. */
export interface Input {
  /** The name that the user gave; `stdin` for stdin. */
  name: string
  /** Absolute and without symbolic links; undefined for a pipe. */
  path: string | undefined
  format: InputFormat
  /**
   * Reads the input from the beginning. A chunk is valid until the next one is read.
   *
   * @throws Failure `conflict` if the file was changed after it was opened
   */
  read(): AsyncIterable<Uint8Array>
  close(): void
}

export interface InputOptions {
  /** Default: detected. */
  format?: InputFormat | undefined
  /** Ends the wait for a pipe. */
  signal: AbortSignal
  /** Directory of the spool file for stdin and pipes. */
  spoolDirectory: string
  stdin: AsyncIterable<Uint8Array>
  /** Registers an operation that may not end by itself. @returns the function to call at its end */
  untilEnded(): () => void
  /** Resolves a path relative to the working directory of the run. */
  resolvePath(name: string): string
}

/**
 * Opens a file, or spools stdin or a pipe.
 *
 * @param name of a file; `-` for stdin
 * @throws Failure `refused` if the input cannot be read, `storage` if a pipe cannot be spooled; the signal's
 *   reason
 */
export async function openInput(name: string, options: InputOptions): Promise<Input> {
  const { signal, spoolDirectory } = options
  signal.throwIfAborted()
  if (name === '-') {
    const file = await spool(options.stdin, spoolDirectory, signal)
    return inputOf('stdin', undefined, file, options)
  }
  try {
    const path = name === '' ? '' : options.resolvePath(name)
    const found = await stat(path)
    if (found.isDirectory()) throw new Failure('refused', `${name} is a directory, not a file`)
    if (found.isFile()) {
      const file = { handle: await open(path, 'r'), remove: () => {} }
      return await inputOf(name, realpathSync(path), file, options)
    }
    return await inputOf(name, undefined, await spoolPipe(path, options), options)
  } catch (cause) {
    if (cause instanceof Failure || signal.aborted) throw cause
    throw new Failure(
      'refused',
      `Cannot read ${name || 'the file: its name is empty'}: ${describeSystemError(cause)}`,
      {
        cause,
      },
    )
  }
}

/** Opening a pipe blocks a thread of Node's pool until the other end is opened, which may never happen. */
async function spoolPipe(
  path: string,
  { signal, spoolDirectory, untilEnded }: InputOptions,
): Promise<OpenFile> {
  const release = untilEnded()
  try {
    const opening = open(path, 'r')
    const handle = await unlessAborted(opening, signal).catch((error) => {
      opening.then(
        (late) => late.close(),
        () => {},
      )
      throw error
    })
    const stream = handle.createReadStream()
    try {
      return await spool(stream, spoolDirectory, signal)
    } finally {
      stream.destroy()
    }
  } finally {
    if (!signal.aborted) release()
  }
}

async function inputOf(
  name: string,
  path: string | undefined,
  { handle, remove }: OpenFile,
  { format }: InputOptions,
): Promise<Input> {
  const close = (): void => {
    handle.close().then(remove, remove)
  }
  try {
    const opened = await handle.stat({ bigint: true })
    const read = (): AsyncIterable<Uint8Array> => readWhole(name, handle, opened)
    const known = format ?? formatOfExtension(name) ?? formatOfText(await readBeginning(handle))
    return { name, path, format: known, read, close }
  } catch (error) {
    close()
    throw error
  }
}

async function readBeginning(handle: FileHandle): Promise<string> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(sampleSize), 0, sampleSize, 0)
  return buffer.toString('utf8', 0, bytesRead)
}

async function* readWhole(name: string, handle: FileHandle, opened: BigIntStats): AsyncGenerator<Uint8Array> {
  const buffer = Buffer.allocUnsafe(readSize)
  for (let position = 0; ; ) {
    const { bytesRead } = await handle.read(buffer, 0, readSize, position)
    const now = await handle.stat({ bigint: true })
    if (now.size !== opened.size || now.mtimeNs !== opened.mtimeNs) {
      throw new Failure('conflict', `${name} was changed while chatctl was reading it`, {
        hint: 'Run the same command again when no other program writes to the file.',
      })
    }
    if (bytesRead === 0) return
    position += bytesRead
    for (let at = 0; at < bytesRead; at += chunkSize) {
      yield buffer.subarray(at, Math.min(at + chunkSize, bytesRead))
    }
  }
}

interface OpenFile {
  handle: FileHandle
  /** Removes the file after it is closed. Only needed on Windows, which cannot remove an open file. */
  remove(): void
}

/**
 * Copies a stream that can be read only once to an unlinked file. Because it may contain passwords, the file
 * must not remain if the process is killed.
 *
 * @throws Failure `storage`; the signal's reason
 */
async function spool(
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
    throw unusableStateDirectory(directory, 'piped input there while it runs', cause)
  }
}
