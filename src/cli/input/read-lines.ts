import { on } from 'node:events'
import { stripVTControlCharacters } from 'node:util'
import type { Host } from '../host.ts'
import type { Streams } from '../output/streams.ts'

const maxLength = 64 * 1024

/**
 * The lines of stdin as they arrive, until it ends or the signal is aborted. Puts a terminal into raw mode.
 */
export async function* readLines(streams: Streams, signal: AbortSignal): AsyncIterable<string> {
  if (signal.aborted) return
  const { stdin } = streams.host
  const isRaw = stdin.isTTY === true
  const lines = new TypedLines({ maxLength, isRaw })
  const leaveRawMode = isRaw ? enterRawMode(streams.host, signal) : () => {}
  try {
    for await (const [chunk] of on(stdin, 'data', { signal, close: ['end', 'close'] })) {
      const typed = lines.feed(chunk)
      if (isRaw) act(typed, streams)
      yield* typed.lines
      if (typed.keys.includes('end')) return
    }
    const last = lines.end()
    if (last !== undefined) yield last
  } catch (error) {
    // The terminal was closed, or the wait ended.
    if (!signal.aborted && (error as NodeJS.ErrnoException).syscall === undefined) throw error
  } finally {
    stdin.pause()
    leaveRawMode()
  }
}

/** @returns leaves raw mode. The signal leaves it at once, because a prompt may follow. */
function enterRawMode({ stdin, onContinue }: Host, signal: AbortSignal): () => void {
  const leave = (): void => {
    signal.removeEventListener('abort', leave)
    stopListening()
    stdin.setRawMode(false)
  }
  // The shell changes the mode of the terminal while this process is suspended.
  const enter = (): void => void stdin.setRawMode(true)
  signal.addEventListener('abort', leave, { once: true })
  const stopListening = onContinue(enter)
  enter()
  return leave
}

const signals = { interrupt: 'SIGINT', quit: 'SIGQUIT', suspend: 'SIGTSTP' } as const

function act({ echo, keys }: DecodedInput, streams: Streams): void {
  if (echo !== '' && streams.isWatched) streams.echoTyped(echo)
  for (const key of keys) {
    if (key === 'end') continue
    if (key === 'suspend') streams.host.stdin.setRawMode(false)
    streams.host.raise(signals[key])
  }
}

/** A key that is not text. */
type Key = 'interrupt' | 'quit' | 'suspend' | 'end'

/** The meaning of a piece of input. */
export interface DecodedInput {
  /** Whole lines, without their ends. */
  lines: string[]
  /** What to echo, because a terminal in raw mode does not. */
  echo: string
  keys: Key[]
}

const keys: Record<string, Key> = {
  '\u0003': 'interrupt',
  '\u001c': 'quit',
  '\u001a': 'suspend',
}
const endOfInput = '\u0004'
const erase = '\b \b'

/**
 * Splits the input of a terminal in raw mode, or of a pipe, into lines. In canonical mode, a terminal
 * truncates each line after 4,095 bytes (`MAX_CANON`), and the redirect URL of a sign-in may be longer.
 */
export class TypedLines {
  readonly #maxLength: number
  readonly #isRaw: boolean
  readonly #decoder = new TextDecoder()
  #line: string[] = []
  #endedInReturn = false

  /** @param maxLength of a line in characters; a longer line is truncated */
  constructor({ maxLength, isRaw }: { maxLength: number; isRaw: boolean }) {
    this.#maxLength = maxLength
    this.#isRaw = isRaw
  }

  feed(bytes: Uint8Array): DecodedInput {
    const typed: DecodedInput = { lines: [], echo: '', keys: [] }
    for (const character of this.#decoder.decode(bytes, { stream: true })) this.#take(character, typed)
    return typed
  }

  /** The last line, where the input ended without an end of line. */
  end(): string | undefined {
    return this.#line.length > 0 ? this.#finish() : undefined
  }

  #take(character: string, typed: DecodedInput): void {
    const follows = this.#endedInReturn && character === '\n'
    this.#endedInReturn = character === '\r'
    if (follows) return
    if (character === '\r' || character === '\n') {
      typed.lines.push(this.#finish())
      typed.echo += '\n'
      return
    }
    if (!this.#isRaw || !this.#edit(character, typed)) this.#append(character, typed)
  }

  /** Handles the keys of line editing, which a terminal handles itself in canonical mode. */
  #edit(character: string, typed: DecodedInput): boolean {
    const key = character === endOfInput && this.#line.length === 0 ? 'end' : keys[character]
    if (key) typed.keys.push(key)
    else if (character === '\u007f' || character === '\b') typed.echo += this.#line.pop() ? erase : ''
    else if (character === '\u0015') typed.echo += erase.repeat(this.#line.splice(0).length)
    else return false
    return true
  }

  #append(character: string, typed: DecodedInput): void {
    if (this.#line.length > this.#maxLength) return
    this.#line.push(character)
    if (!/\p{Cc}/u.test(character)) typed.echo += character
  }

  #finish(): string {
    return stripVTControlCharacters(this.#line.splice(0).join(''))
  }
}
