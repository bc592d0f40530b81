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
    stream.on('drain', () => this.write(''))
  }

  write(line: string): void {
    if (this.#stream.writableLength + line.length > maxWaiting) this.#dropped += 1
    else if (line !== '' || this.#dropped > 0) this.#stream.write(this.#report() + line)
  }

  /** The line is that of a warning of pino. */
  #report(): string {
    if (this.#dropped === 0) return ''
    const dropped = this.#dropped
    this.#dropped = 0
    const msg = 'lines of this log were dropped, because nothing read it'
    return `${JSON.stringify({ level: 40, time: this.#clock.now(), dropped, msg })}\n`
  }
}
