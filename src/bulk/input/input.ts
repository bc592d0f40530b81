import { type BigIntStats, realpathSync } from 'node:fs'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { Failure } from '../../contract/failure.ts'
import { describeSystemError } from '../../system/describe-system-error.ts'
import { unlessAborted } from '../../system/unless-aborted.ts'
import { formatOfExtension, formatOfText, type InputFormat } from './input-format.ts'
import { type OpenFile, spool } from './spool.ts'

/** Bytes that are read at once. */
const readSize = 64 * 1024

/**
 * Bytes that are given on at once: the rows of a chunk are there at the same time. Measured on a
 * million rows of CSV: 158 MB at most, of which an empty run takes 95, where 256 KiB made it 322.
 */
const chunkSize = 16 * 1024

/** Enough of the beginning to see the format by. */
const beginning = 4096

/** A file of rows, or what came through a pipe, which may be read as often as one likes. */
export interface Input {
  /** As it was given; `stdin` for that. */
  name: string
  /** Absolute, with links followed; undefined for a pipe. */
  path: string | undefined
  format: InputFormat
  /**
   * All of it from the beginning. A chunk is good until the next one is asked for.
   * @throws Failure `conflict` when the file was changed since it was opened
   */
  read(): AsyncIterable<Uint8Array>
  close(): void
}

export interface InputOptions {
  /** Whatever the ending of the name says. */
  format?: InputFormat | undefined
  /** Ends the wait for what comes through a pipe. */
  signal: AbortSignal
  /** Where stdin and pipes are kept while they are used. */
  spoolDirectory: string
  stdin: AsyncIterable<Uint8Array>
  /** Says that something may not end by itself. @returns to be called when it has ended */
  untilEnded(): () => void
  /** The path that a person means by a name of a file. */
  resolvePath(name: string): string
}

/**
 * @param name of a file; `-` for stdin, which is kept in a file without a name, as any pipe is
 * @throws Failure `refused` when it cannot be read, `storage` when a pipe cannot be kept; the
 *   signal's reason when that comes first
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

/** A thread of Node's pool waits for the other end of the pipe, and may wait longer than this process. */
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
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(beginning), 0, beginning, 0)
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
