import { createReadStream, realpathSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { extname } from 'node:path'
import { Failure } from '../../contract/failure.ts'
import type { RunFiles } from '../../run/run.ts'
import { describeSystemError } from '../../system/describe-system-error.ts'
import { decodeText } from '../../system/files/read-text-files.ts'
import { unlessAborted } from '../../system/unless-aborted.ts'

export type InputFormat = 'csv' | 'jsonl' | 'json' | 'yaml'

/** Characters from which the format is detected. */
const sampleSize = 4096

/** Maximum number of bytes, because the whole content is held in memory. */
const maxHeld = 64 * 1024 * 1024

/** The content of a file of rows, or of a pipe. */
export interface Input {
  /** The name that the user gave; `stdin` for stdin. */
  name: string
  /** Absolute and without symbolic links; undefined for a pipe. */
  path: string | undefined
  format: InputFormat
  /** Without a byte order mark. */
  text: string
}

/**
 * Reads a file, stdin, or a pipe.
 * @param name of a file; `-` for stdin
 * @param format default: detected
 * @throws Failure `refused` if the input cannot be read, or is not UTF-8 text; the signal's reason
 */
export async function readInput(run: RunFiles, name: string, format?: InputFormat): Promise<Input> {
  const { signal } = run
  signal.throwIfAborted()
  if (name === '-') return inputOf('stdin', undefined, await readAll('stdin', run.stdin, signal), format)
  try {
    const path = name === '' ? '' : run.resolvePath(name)
    const found = await stat(path)
    if (found.isDirectory()) throw new Failure('refused', `${name} is a directory, not a file`)
    const bytes = await readFile(name, path, run)
    return inputOf(name, found.isFile() ? realpathSync(path) : undefined, bytes, format)
  } catch (cause) {
    if (cause instanceof Failure || signal.aborted) throw cause
    const words = `Cannot read ${name || 'the file: its name is empty'}: ${describeSystemError(cause)}`
    throw new Failure('refused', words, { cause })
  }
}

function inputOf(name: string, path: string | undefined, bytes: Uint8Array, format?: InputFormat): Input {
  const text = decodeText(bytes, name)
  const detected = formatOfExtension(name) ?? formatOfText(text.slice(0, sampleSize))
  return { name, path, format: format ?? detected, text }
}

/** Opening a pipe blocks a thread of Node's pool until the other end is opened, which may never happen. */
async function readFile(name: string, path: string, run: RunFiles): Promise<Buffer> {
  const { signal } = run
  const release = run.untilEnded()
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
    throw new Failure('refused', `${name} is larger than 64 MiB`, { hint: 'Split the file.' })
  }
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
  const start = text.trimStart()
  if (start.startsWith('[')) return 'json'
  if (start.startsWith('{')) return /^\{\s*\n/.test(start) ? 'json' : 'jsonl'
  return /^(- |---\s|-\r?\n)/.test(start) ? 'yaml' : 'csv'
}
