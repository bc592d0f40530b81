import type { Writable } from 'node:stream'
import type { Clock } from './clock.ts'

/** How many characters may wait for the reader of the log. */
const maxWaiting = 1024 * 1024

/** Writes the lines of a log to a stream that does not block. If its reader stalls, lines are dropped, and counted. */
export class LogWriter {
  readonly #stream: Writable
  readonly #clock: Clock
  #dropped = 0

  constructor(stream: Writable, clock: Clock) {
    this.#stream = stream
    this.#clock = clock
    stream.on('drain', () => this.#report())
  }

  write(line: string): void {
    if (this.#stream.writableLength + line.length > maxWaiting) this.#dropped += 1
    else this.#stream.write(line)
  }

  /** The line is that of a warning of pino. */
  #report(): void {
    if (this.#dropped === 0) return
    const msg = 'lines of this log were dropped, because nothing read it'
    this.write(`${JSON.stringify({ level: 40, time: this.#clock.now(), dropped: this.#dropped, msg })}\n`)
    this.#dropped = 0
  }
}
