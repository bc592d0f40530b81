import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { Failure } from '../../contract/failure.ts'
import type { Clock } from '../../system/clock.ts'
import { makePrivateDirectory } from '../../system/files/private-directory.ts'
import { tryProcessLock } from '../../system/files/process-lock.ts'
import { syncDirectory } from '../../system/files/replace-file.ts'
import { extension, makeSessionId, sessionIdOf } from './session-id.ts'
import { withStorageErrors } from './storage-errors.ts'
import { repeatAfter, type Transcript } from './transcript.ts'
import type { LineOf, TranscriptLine } from './transcript-line.ts'

/**
 * Appends to the transcript of a session. `append` hands the lines to the operating system before it
 * returns, so that a killed process loses none; `sync` flushes them to disk.
 */
export class TranscriptWriter {
  readonly id: string
  readonly path: string
  /** Lines before the first prompt. A session without a prompt creates no file. */
  #waiting: TranscriptLine[]
  #descriptor: number | undefined
  #release: (() => void) | undefined
  /** Whether the file ends within a line. */
  #torn = false
  readonly #repeated: RepeatedOptions

  private constructor(path: string, waiting: TranscriptLine[], repeated: RepeatedOptions) {
    this.id = sessionIdOf(path)
    this.path = path
    this.#waiting = waiting
    this.#repeated = repeated
  }

  /** @param directory of all transcripts, created with the first prompt */
  static create(
    directory: string,
    about: { profile: string | null; baseUrl: string | null },
    clock: Clock,
  ): TranscriptWriter {
    const now = new Date(clock.now())
    let path: string
    do path = join(directory, `${makeSessionId(now)}${extension}`)
    while (existsSync(path))
    const { profile, baseUrl } = about
    const id = sessionIdOf(path)
    const first = { v: 1, type: 'session', id, at: now.toISOString(), profile, base_url: baseUrl } as const
    return new TranscriptWriter(path, [first], new RepeatedOptions())
  }

  /**
   * Opens a transcript to continue it.
   *
   * @param current the name and options in force, which are repeated with the next prompt
   * @throws Failure `not_found`; `conflict` if another process has it open; `storage`
   */
  static reopen(path: string, current: NameAndOptions): TranscriptWriter {
    const writer = new TranscriptWriter(path, [], RepeatedOptions.of(current))
    // Without O_CREAT, because the transcript may have been deleted since it was found.
    writer.#open(constants.O_RDWR | constants.O_APPEND)
    return writer
  }

  /** @throws Failure `storage`, for example on a full disk; `conflict` if another process has it open */
  append(line: TranscriptLine): void {
    if (this.#descriptor === undefined) {
      if (line.type !== 'user') {
        this.#waiting.push(line)
        return
      }
      this.#open('ax')
    }
    this.#write([...this.#waiting, ...this.#repeated.addTo(line)])
    this.#waiting = []
  }

  /** Flushes all appended lines to disk. */
  sync(): void {
    const descriptor = this.#descriptor
    if (descriptor !== undefined) withStorageErrors(this.path, 'written', () => fsyncSync(descriptor))
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor)
    this.#descriptor = undefined
    this.#release?.()
    this.#release = undefined
  }

  #open(mode: 'ax' | number): void {
    withStorageErrors(this.path, 'written', () => {
      makePrivateDirectory(dirname(this.path))
      const release = lockTranscript(this.path)
      try {
        const descriptor = openSync(this.path, mode, 0o600)
        this.#descriptor = descriptor
        this.#torn = isTorn(descriptor)
        syncDirectory(dirname(this.path))
      } catch (error) {
        release()
        throw error
      }
      this.#release = release
    })
  }

  /** Writes the lines in one call, so that a crash does not separate them. */
  #write(lines: readonly TranscriptLine[]): void {
    const text = lines.map(lineOf).join('')
    const bytes = Buffer.from(this.#torn ? `\n${text}` : text)
    const descriptor = this.#descriptor
    if (descriptor === undefined) throw new Error('the transcript is closed')
    withStorageErrors(this.path, 'written', () => {
      let at = 0
      try {
        while (at < bytes.length) at += writeSync(descriptor, bytes, at)
        this.#torn = false
      } catch (error) {
        if (at > 0) this.#removePart(descriptor, at)
        throw error
      }
    })
    this.#repeated.take(lines, bytes.length)
  }

  /** Removes the part of the lines that was written, which would take the last space of a full disk. */
  #removePart(descriptor: number, length: number): void {
    try {
      ftruncateSync(descriptor, fstatSync(descriptor).size - length)
    } catch {
      this.#torn = true
    }
  }
}

/**
 * @returns releases the lock
 * @throws Failure `conflict` if another process holds it; Error of the system
 */
export function lockTranscript(path: string): () => void {
  const release = tryProcessLock(`${path}.lock`)
  if (release) return release
  throw new Failure('conflict', `The session ${sessionIdOf(path)} is open in another chatctl process`, {
    advice: [{ code: 'close_session' }],
  })
}

/** The type comes first, so that a reader recognizes a line by its first bytes. */
function lineOf(line: TranscriptLine): string {
  if (line.type === 'session') return `${JSON.stringify(line)}\n`
  const { type, ...rest } = line
  return `${JSON.stringify({ type, ...rest })}\n`
}

function isTorn(descriptor: number): boolean {
  const { size } = fstatSync(descriptor)
  if (size === 0) return false
  const last = Buffer.alloc(1)
  readSync(descriptor, last, 0, 1, size - 1)
  return last[0] !== 0x0a
}

type NameAndOptions = Pick<
  Transcript,
  'name' | 'mode' | 'contextId' | 'model' | 'system' | 'temperature' | 'maxTokens'
>

/** The name and the options in force, which are repeated in a long transcript. */
class RepeatedOptions {
  /** Bytes since they were last written. */
  #written = 0
  #name: string | undefined
  #options: Omit<LineOf<'options'>, 'at'> | undefined

  static of(current: NameAndOptions): RepeatedOptions {
    const { name, mode, contextId, model, system, temperature, maxTokens } = current
    const repeated = new RepeatedOptions()
    repeated.#written = Infinity
    repeated.#name = name
    repeated.#options = {
      type: 'options',
      mode,
      context_id: contextId,
      model,
      system,
      temperature,
      max_tokens: maxTokens,
    }
    return repeated
  }

  take(lines: readonly TranscriptLine[], bytes: number): void {
    this.#written += bytes
    for (const line of lines) {
      if (line.type === 'name') this.#name = line.name
      else if (line.type === 'options') this.#options = line
      else if (line.type === 'start' || line.type === 'end') this.#learn(line.context_id)
    }
  }

  /** A line, with those that are repeated if it is time for that. New options replace the repeated ones. */
  addTo(line: TranscriptLine): TranscriptLine[] {
    const isPlace = line.type === 'user' || line.type === 'options'
    if (!isPlace || this.#written <= repeatAfter) return [line]
    this.#written = 0
    const name: TranscriptLine[] = this.#name === undefined ? [] : [{ type: 'name', name: this.#name }]
    if (line.type === 'options') return [line, ...name]
    return [...(this.#options ? [{ ...this.#options, at: line.at }] : []), ...name, line]
  }

  /** The reply to the first prompt names the context. */
  #learn(contextId: string | undefined): void {
    const options = this.#options ?? { type: 'options', mode: 'context' }
    if (contextId === undefined || options.mode !== 'context') return
    this.#options = { ...options, context_id: contextId }
  }
}
