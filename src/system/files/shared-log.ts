import { closeSync, fstatSync, openSync, readSync, writeSync } from 'node:fs'

const newline = 0x0a

/**
 * An append-only file of lines, with mode 0600, to which several processes append at the same time. Nothing is flushed
 * to disk. A log of one process is a `LineLog`.
 */
export class SharedLog {
  readonly #file: number
  /** Whether the file may end within a line, as after a write to a full disk. */
  #isTorn: boolean

  /** @throws Error of the system */
  constructor(path: string) {
    this.#file = openSync(path, 'a+', 0o600)
    const { size } = fstatSync(this.#file)
    const last = Buffer.from('\n')
    if (size > 0) readSync(this.#file, last, 0, 1, size - 1)
    this.#isTorn = last[0] !== newline
  }

  /**
   * Hands whole lines to the operating system, in one call, so that the lines of two processes do not mix.
   *
   * @throws Error of the system; then the lines may be incomplete
   */
  append(lines: string): void {
    // After an incomplete line, a newline is needed first.
    const bytes = Buffer.from(this.#isTorn ? `\n${lines}` : lines)
    this.#isTorn = true
    if (writeSync(this.#file, bytes) < bytes.length) throw new Error('not enough space for the whole line')
    this.#isTorn = false
  }

  close(): void {
    closeSync(this.#file)
  }
}
