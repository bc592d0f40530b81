import { on } from 'node:events'
import type { Host } from '../host.ts'
import type { Streams } from '../output/streams.ts'
import { type Typed, TypedLines } from './typed-lines.ts'

const maxLength = 64 * 1024

/**
 * The lines of stdin as they come, until it ends or the signal is aborted. A terminal is in raw mode
 * meanwhile.
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
    // A terminal that is gone, or the end of the wait.
    if (!signal.aborted && (error as NodeJS.ErrnoException).syscall === undefined) throw error
  } finally {
    stdin.pause()
    leaveRawMode()
  }
}

/** @returns leaves it again, as the signal does at once: what follows may ask a question */
function enterRawMode({ stdin, onContinue }: Host, signal: AbortSignal): () => void {
  const leave = (): void => {
    signal.removeEventListener('abort', leave)
    stopListening()
    stdin.setRawMode(false)
  }
  // The shell has set the terminal to its own mode while this process was suspended.
  const enter = (): void => void stdin.setRawMode(true)
  signal.addEventListener('abort', leave, { once: true })
  const stopListening = onContinue(enter)
  enter()
  return leave
}

const signals = { interrupt: 'SIGINT', quit: 'SIGQUIT', suspend: 'SIGTSTP' } as const

function act({ echo, keys }: Typed, streams: Streams): void {
  if (echo !== '' && streams.isWatched) streams.echoTyped(echo)
  for (const key of keys) {
    if (key === 'end') continue
    if (key === 'suspend') streams.host.stdin.setRawMode(false)
    streams.host.raise(signals[key])
  }
}
