import { closeSync, openSync, readSync } from 'node:fs'
import { withStorageErrors } from './storage-errors.ts'
import { type LineOf, parseLine, type TranscriptLine } from './transcript-line.ts'

/** A prompt or a reply of a transcript. */
interface RecordedMessage {
  turn: number
  role: 'user' | 'assistant'
  /** ISO 8601. */
  at: string
  text: string
  contextId: string | undefined
  /** The ID of a reply on the service. */
  id: string | undefined
}

/** A place in a transcript before a turn, and what is known there. Plain data. */
export interface ReadingPoint {
  /** In bytes. */
  offset: number
  profile: string | null
  /** Null for the embedded service. */
  baseUrl: string | null
  contextId: string | undefined
}

/** The messages of a turn, and the place before it. */
export interface RecordedTurn {
  point: ReadingPoint
  turn: number
  messages: readonly RecordedMessage[]
}

const beginning: ReadingPoint = { offset: 0, profile: null, baseUrl: null, contextId: undefined }

/**
 * Reads the messages of a transcript turn by turn, in memory for one turn. The last turn may still grow, so
 * a reader of what was appended begins with it again.
 *
 * @throws Failure `not_found`, `storage`
 */
export function* readMessages(path: string, from: ReadingPoint = beginning): Generator<RecordedTurn> {
  let known = { ...from }
  let turn: OpenTurn | undefined
  for (const { line, offset } of linesFrom(path, from.offset)) {
    switch (line.type) {
      case 'session':
        known = { ...known, profile: line.profile, baseUrl: line.base_url }
        break
      case 'options':
        known = { ...known, contextId: line.mode === 'context' ? line.context_id : undefined }
        break
      case 'user':
        if (turn) yield turn.close()
        if (turn?.contextId !== undefined) known = { ...known, contextId: turn.contextId }
        turn = new OpenTurn({ ...known, offset }, line)
        break
      case 'start':
      case 'end':
      case 'delta':
      case 'recovered':
        if (turn?.number === line.turn) turn.take(line)
    }
  }
  if (turn) yield turn.close()
}

class OpenTurn {
  readonly number: number
  readonly #point: ReadingPoint
  readonly #user: LineOf<'user'>
  #pieces: string[] = []
  #repliedAt: string | undefined
  #id: string | undefined
  contextId: string | undefined

  constructor(point: ReadingPoint, user: LineOf<'user'>) {
    this.number = user.turn
    this.#point = point
    this.#user = user
    this.contextId = point.contextId
  }

  take(line: LineOf<'start' | 'end' | 'delta' | 'recovered'>): void {
    if (line.type === 'delta') {
      this.#pieces.push(line.text)
      return
    }
    this.#repliedAt ??= line.at
    if (line.type === 'recovered') {
      this.#pieces = [line.text]
      return
    }
    this.#id = line.id ?? this.#id
    this.contextId = line.context_id ?? this.contextId
  }

  close(): RecordedTurn {
    const { turn, at, text } = this.#user
    const { contextId } = this
    const reply = this.#pieces.join('')
    const messages: RecordedMessage[] = [{ turn, role: 'user', at, text, contextId, id: undefined }]
    if (reply !== '') {
      const repliedAt = this.#repliedAt ?? at
      messages.push({ turn, role: 'assistant', at: repliedAt, text: reply, contextId, id: this.#id })
    }
    return { point: this.#point, turn, messages }
  }
}

const newline = 0x0a
const chunkLength = 64 * 1024

/** The complete lines of a file, with their offsets in bytes. */
function* linesFrom(path: string, from: number): Generator<{ line: TranscriptLine; offset: number }> {
  const descriptor = withStorageErrors(path, 'read', () => openSync(path, 'r'))
  try {
    let rest = Buffer.alloc(0)
    let offset = from
    for (;;) {
      // At least as much again, so that a long line is not copied too often.
      const chunk = Buffer.alloc(Math.max(chunkLength, rest.length))
      const at = offset + rest.length
      const count = withStorageErrors(path, 'read', () => readSync(descriptor, chunk, 0, chunk.length, at))
      if (count === 0) return
      const bytes = Buffer.concat([rest, chunk.subarray(0, count)])
      let start = 0
      for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline, start)) {
        const line = parseLine(bytes.toString('utf8', start, end))
        if (line) yield { line, offset: offset + start }
        start = end + 1
      }
      rest = bytes.subarray(start)
      offset += start
    }
  } finally {
    closeSync(descriptor)
  }
}
