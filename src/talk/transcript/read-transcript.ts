import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs'
import { buildTranscript } from './build-transcript.ts'
import { sessionIdOf } from './session-id.ts'
import { withStorageErrors } from './storage-errors.ts'
import type { Transcript } from './transcript.ts'
import { parseLine, repeatAfter } from './transcript-line.ts'

/**
 * Reads a transcript. A torn last line, and lines of types that this version does not know, are
 * left out.
 *
 * @throws Failure `not_found`; `storage` where it cannot be read or a later version wrote it
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

/** Bytes of either end that are read at first. */
const piece = 64 * 1024

const question = '\n{"type":"user"'

/**
 * What the first and the last lines of a transcript say: all but the answers, the turns between and
 * the conversation. The time this takes does not grow with the transcript.
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

/** From the beginning to behind the first question. */
function readHead(descriptor: number, size: number): Buffer {
  for (let length = 2 * piece; ; length *= 4) {
    const head = read(descriptor, 0, Math.min(length, size))
    if (head.length === size) return head
    const first = head.indexOf(question)
    const end = first < 0 ? -1 : head.indexOf('\n', first + 1)
    if (end >= 0) return head.subarray(0, end)
  }
}

/** As many last lines as are sure to hold the last question, and the name and options in force. */
function readTail(descriptor: number, size: number): Buffer {
  for (let length = piece; ; length *= 4) {
    const from = Math.max(0, size - length)
    const tail = read(descriptor, from, size - from)
    if (from === 0) return tail
    if (tail.lastIndexOf(question) > repeatAfter) return tail.subarray(tail.indexOf('\n'))
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
    .filter((text) => text !== '' && !text.startsWith('{"type":"delta"'))
    .flatMap((text) => parseLine(text) ?? [])
}
