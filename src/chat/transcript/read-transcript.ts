import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs'
import { buildTranscript } from './build-transcript.ts'
import { sessionIdOf } from './session-id.ts'
import { withStorageErrors } from './storage-errors.ts'
import { repeatAfter, type Transcript } from './transcript.ts'
import { parseLine } from './transcript-line.ts'

/**
 * Reads a transcript. Skips a truncated last line, and lines of unknown types.
 *
 * @throws Failure `not_found`; `storage` if it cannot be read, or a newer version wrote it
 */
export function readTranscript(path: string): Transcript {
  const text = withStorageErrors(path, 'read', () => readFileSync(path, 'utf8'))
  return buildTranscript(sessionIdOf(path), readLines(text))
}

function* readLines(text: string) {
  for (const part of text.split('\n')) {
    const line = part === '' ? undefined : parseLine(part)
    if (line) yield line
  }
}

/** Bytes that are read first at either end. */
const firstLength = 64 * 1024

const userLine = '\n{"type":"user"'

/**
 * Reads only the first and the last lines of a transcript, so that the time does not grow with its
 * size. The result lacks the replies, and the turns in between.
 *
 * @throws Failure as `readTranscript`
 */
export function readHeadAndTail(path: string): Omit<Transcript, 'conversation'> {
  return withStorageErrors(path, 'read', () => {
    const descriptor = openSync(path, 'r')
    try {
      const { size } = fstatSync(descriptor)
      const head = readHead(descriptor, size)
      const parts = head.length === size ? [head] : [head, readTail(descriptor, size)]
      return buildTranscript(sessionIdOf(path), parts.flatMap(linesOf))
    } finally {
      closeSync(descriptor)
    }
  })
}

/** Reads from the beginning through the first prompt. */
function readHead(descriptor: number, size: number): Buffer {
  for (let length = 2 * firstLength; ; length *= 4) {
    const head = read(descriptor, 0, Math.min(length, size))
    if (head.length === size) return head
    const first = head.indexOf(userLine)
    const end = first < 0 ? -1 : head.indexOf('\n', first + 1)
    if (end >= 0) return head.subarray(0, end)
  }
}

/** Reads enough at the end to include the last prompt, and the name and options in force. */
function readTail(descriptor: number, size: number): Buffer {
  for (let length = firstLength; ; length *= 4) {
    const from = Math.max(0, size - length)
    const tail = read(descriptor, from, size - from)
    if (from === 0) return tail
    if (tail.lastIndexOf(userLine) > repeatAfter) return tail.subarray(tail.indexOf('\n'))
  }
}

function read(descriptor: number, from: number, length: number): Buffer {
  const bytes = Buffer.alloc(length)
  let at = 0
  while (at < length) {
    const count = readSync(descriptor, bytes, at, length - at, from + at)
    if (count === 0) break
    at += count
  }
  return bytes.subarray(0, at)
}

function linesOf(bytes: Buffer) {
  return bytes
    .toString('utf8')
    .split('\n')
    .filter((text) => text !== '' && !/^\{"type":"(delta|reasoning)"/.test(text))
    .flatMap((text) => parseLine(text) ?? [])
}
