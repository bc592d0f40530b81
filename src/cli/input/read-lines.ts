import { createInterface } from 'node:readline'
import { stripVTControlCharacters } from 'node:util'
import type { Streams } from '../output/streams.ts'

/**
 * The lines of stdin as they arrive, until it ends or the signal is aborted. A terminal is in raw mode: in canonical
 * mode, it truncates each line after 4,095 bytes (`MAX_CANON`), and the redirect URL of a sign-in may be longer.
 */
export async function* readLines(streams: Streams, signal: AbortSignal): AsyncIterable<string> {
  if (signal.aborted) return
  const { stdin, stderr, raise } = streams.host
  const terminal = stdin.isTTY === true
  const output = streams.isWatched ? stderr : undefined
  const lines = createInterface({ input: stdin, output, terminal, historySize: 0, crlfDelay: Infinity })
  const close = (): void => lines.close()
  // In raw mode, the terminal sends no signal. The prompt that may follow needs the terminal immediately.
  lines.on('SIGINT', () => raise('SIGINT'))
  signal.addEventListener('abort', close, { once: true })
  try {
    for await (const line of lines) yield stripVTControlCharacters(line)
  } catch (error) {
    // The terminal was closed.
    if ((error as NodeJS.ErrnoException).syscall === undefined) throw error
  } finally {
    signal.removeEventListener('abort', close)
    close()
  }
}
