import { existsSync, statSync, utimesSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { Failure } from '../../contract/failure.ts'
import type { Clock } from '../../system/clock.ts'
import { LineLog } from '../../system/files/line-log.ts'
import { makePrivateDirectory } from '../../system/files/private-directory.ts'
import { demandProcessLock } from '../../system/files/process-lock.ts'
import type { Transcript } from './transcript.ts'
import {
  extension,
  makeSessionId,
  nextUse,
  sessionIdOf,
  storageFailure,
  transcriptNames,
  withStorageErrors,
} from './transcript-files.ts'
import type { TranscriptLine } from './transcript-line.ts'

/**
 * Appends to the transcript of a session. `append` hands the lines to the operating system before it
 * returns, so that a killed process loses none; `sync` flushes them to disk.
 */
export class TranscriptWriter {
  readonly id: string
  readonly path: string
  /** Lines before the first prompt. A session without a prompt creates no file. */
  #waiting: TranscriptLine[]
  readonly #log: LineLog
  /** Of this writer, in ms: lists are in this order. */
  #usedAt: number | undefined
  /** Undefined before the file is opened. */
  #release: (() => void) | undefined

  private constructor(path: string, waiting: TranscriptLine[]) {
    this.id = sessionIdOf(path)
    this.path = path
    this.#waiting = waiting
    this.#log = new LineLog({ path, failureOf: (cause) => storageFailure(path, 'written', cause) })
  }

  /** @param directory of all transcripts, created with the first prompt */
  static create(
    directory: string,
    owner: Partial<Pick<Transcript, 'user'>> & {
      profile: string | null | undefined
      baseUrl: string | null | undefined
    },
    clock: Clock,
    forkedFrom?: string,
  ): TranscriptWriter {
    const now = new Date(clock.now())
    let path: string
    do path = join(directory, `${makeSessionId(now)}${extension}`)
    while (existsSync(path))
    const about = {
      profile: owner.profile ?? null,
      base_url: owner.baseUrl ?? null,
      user: owner.user,
      forked_from: forkedFrom,
    }
    const id = sessionIdOf(path)
    const first = { v: 1, type: 'session', id, at: now.toISOString(), ...about } as const
    return new TranscriptWriter(path, [first])
  }

  /**
   * Opens a transcript to continue it.
   * @throws Failure `not_found`; `conflict` if another process has it open; `storage`
   */
  static reopen(path: string): TranscriptWriter {
    const writer = new TranscriptWriter(path, [])
    writer.#open()
    try {
      // It may have been deleted since it was found.
      if (!existsSync(path)) throw storageFailure(path, 'read', { code: 'ENOENT' })
      writer.#log.restore(() => {})
      return writer
    } catch (error) {
      writer.close()
      throw error
    }
  }

  /** Undefined if another process has it open. @throws as `reopen` */
  static reopenUnlessOpen(path: string): TranscriptWriter | undefined {
    try {
      return TranscriptWriter.reopen(path)
    } catch (error) {
      if (error instanceof Failure && error.kind === 'conflict') return undefined
      throw error
    }
  }

  /** @throws Failure `storage`, for example on a full disk; `conflict` if another process has it open */
  append(added: TranscriptLine | readonly TranscriptLine[]): void {
    const lines = [...this.#waiting, added].flat()
    if (!this.#release) {
      if (!lines.some(({ type }) => type === 'user')) {
        this.#waiting = lines
        return
      }
      this.#open()
    }
    // In one write, so that a crash does not separate them.
    this.#log.appendNow(lines.map((line) => JSON.stringify(line)).join('\n'))
    withStorageErrors(this.path, 'written', () => {
      if (lines.some(({ type }) => type === 'user' || type === 'end'))
        this.#usedAt = nextUse(dirname(this.path))
      if (this.#usedAt !== undefined) utimesSync(this.path, this.#usedAt / 1000, this.#usedAt / 1000)
    })
    this.#waiting = []
  }

  /** Appends what is no use of the session. The time of its last use stays, because lists are in that order. */
  annotate(lines: readonly TranscriptLine[]): void {
    const { atime, mtime } = statSync(this.path)
    this.append(lines)
    this.sync()
    withStorageErrors(this.path, 'written', () => utimesSync(this.path, atime, mtime))
  }

  /** Flushes all appended lines to disk. */
  sync(): void {
    this.#log.flushNow()
  }

  close(): void {
    this.#log.close()
    this.#release?.()
    this.#release = undefined
  }

  #open(): void {
    this.#release = withStorageErrors(this.path, 'written', () => {
      makePrivateDirectory(dirname(this.path))
      return lockTranscript(this.path)
    })
  }
}

/** @returns releases the lock @throws Failure `conflict` if another process holds it; Error of the system */
export function lockTranscript(path: string): () => void {
  const message = `The session ${sessionIdOf(path)} is open in another chatctl process`
  return demandProcessLock(`${path}.lock`, message, {
    hint: 'Close the session there, or start another one with: chatctl chat',
  })
}

/** The transcripts in a directory that a process has open, as far as their locks can be read. */
export function openTranscriptPaths(directory: string): string[] {
  // A killed process leaves the file of its lock.
  const locked = transcriptNames(directory, '.lock').map((name) => name.slice(0, -'.lock'.length))
  const paths = locked.map((name) => directory + sep + name)
  return paths.filter((path) => {
    try {
      lockTranscript(path)()
      return false
    } catch (error) {
      return error instanceof Failure
    }
  })
}
