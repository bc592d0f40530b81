import { type BigIntStats, createReadStream, realpathSync } from 'node:fs'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { extname } from 'node:path'
import { Failure } from '../../contract/failure.ts'
import { describeSystemError } from '../../system/describe-system-error.ts'
import { unlessAborted } from '../../system/unless-aborted.ts'

export type InputFormat = 'csv' | 'jsonl' | 'json' | 'yaml'

/** Bytes per read. */
const readSize = 64 * 1024

/**
 * Bytes per chunk. All rows of a chunk are in memory at the same time: for a million rows of CSV, the maximum
 * memory was 158 MB, and 322 MB with chunks of 256 KiB. An empty run needs 95 MB.
 */
const chunkSize = 16 * 1024

/** Bytes from which the format is detected. */
const sampleSize = 4096

/** Maximum content of a pipe, which is held in memory. */
const maxHeld = 64 * 1024 * 1024

/** A file of rows, or the content of a pipe. It can be read several times. */
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
  stdin: AsyncIterable<Uint8Array>
  /** Registers an operation that may not end by itself. @returns the function to call at its end */
  untilEnded(): () => void
  /** Resolves a path relative to the working directory of the run. */
  resolvePath(name: string): string
}

/**
 * Opens a file, or reads stdin or a pipe.
 *
 * @param name of a file; `-` for stdin
 * @throws Failure `refused` if the input cannot be read; the signal's reason
 */
export async function openInput(name: string, options: InputOptions): Promise<Input> {
  const { signal } = options
  signal.throwIfAborted()
  if (name === '-') return heldInput('stdin', await readAll('stdin', options.stdin, signal), options)
  try {
    const path = name === '' ? '' : options.resolvePath(name)
    const found = await stat(path)
    if (found.isDirectory()) throw new Failure('refused', `${name} is a directory, not a file`)
    if (found.isFile()) return await fileInput(name, path, options)
    return heldInput(name, await readPipe(name, path, options), options)
  } catch (cause) {
    if (cause instanceof Failure || signal.aborted) throw cause
    const words = `Cannot read ${name || 'the file: its name is empty'}: ${describeSystemError(cause)}`
    throw new Failure('refused', words, { cause })
  }
}

async function fileInput(name: string, path: string, { format }: InputOptions): Promise<Input> {
  const handle = await open(path, 'r')
  const close = (): void => {
    handle.close().catch(() => {})
  }
  try {
    const opened = await handle.stat({ bigint: true })
    const read = () => readFile(name, handle, opened)
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(sampleSize), 0, sampleSize, 0)
    const known = format ?? detectFormat(name, buffer.subarray(0, bytesRead))
    return { name, path: realpathSync(path), format: known, read, close }
  } catch (error) {
    close()
    throw error
  }
}

async function* readFile(name: string, handle: FileHandle, opened: BigIntStats): AsyncGenerator<Uint8Array> {
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
    yield* chunksOf(buffer.subarray(0, bytesRead))
  }
}

function* chunksOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += chunkSize) yield bytes.subarray(at, at + chunkSize)
}

function heldInput(name: string, bytes: Buffer, { format }: InputOptions): Input {
  async function* read(): AsyncGenerator<Uint8Array> {
    yield* chunksOf(bytes)
  }
  const known = format ?? detectFormat(name, bytes.subarray(0, sampleSize))
  return { name, path: undefined, format: known, read, close: () => {} }
}

/** Opening a pipe blocks a thread of Node's pool until the other end is opened, which may never happen. */
async function readPipe(name: string, path: string, { signal, untilEnded }: InputOptions): Promise<Buffer> {
  const release = untilEnded()
  const stream = createReadStream(path)
  try {
    return await readAll(name, stream, signal)
  } finally {
    stream.destroy()
    if (!signal.aborted) release()
  }
}

/** @throws Failure `refused` if it is too large; the signal's reason */
async function readAll(
  name: string,
  source: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<Buffer> {
  const read: Uint8Array[] = []
  let size = 0
  const chunks = source[Symbol.asyncIterator]()
  for (;;) {
    const { value: chunk, done } = await unlessAborted(chunks.next(), signal)
    if (done) return Buffer.concat(read)
    read.push(chunk)
    size += chunk.length
    if (size <= maxHeld) continue
    throw new Failure('refused', `${name} is larger than 64 MiB`, { hint: 'Write it to a file first.' })
  }
}

function detectFormat(name: string, beginning: Uint8Array): InputFormat {
  return formatOfExtension(name) ?? formatOfText(Buffer.from(beginning).toString())
}

const extensions: Readonly<Record<string, InputFormat>> = {
  '.csv': 'csv',
  '.jsonl': 'jsonl',
  '.ndjson': 'jsonl',
  '.json': 'json',
  '.yaml': 'yaml',
  '.yml': 'yaml',
}

/** @returns undefined if the name has no known file extension */
function formatOfExtension(name: string): InputFormat | undefined {
  return extensions[extname(name).toLowerCase()]
}

/** The probable format, by the first characters. */
function formatOfText(text: string): InputFormat {
  const start = text.replace(/^\ufeff/, '').trimStart()
  if (start.startsWith('[')) return 'json'
  if (start.startsWith('{')) return 'jsonl'
  return /^(- |---\s|-\r?\n)/.test(start) ? 'yaml' : 'csv'
}
