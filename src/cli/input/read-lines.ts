import { createInterface } from 'node:readline'

/**
 * The lines of stdin as they come, from when they are first asked for. Unlike a text that is awaited
 * whole, they may never end.
 */
export async function* readLines(): AsyncIterable<string> {
  // Without an output of its own: on a terminal the system shows what is typed.
  yield* createInterface({ input: process.stdin, terminal: false })
}
