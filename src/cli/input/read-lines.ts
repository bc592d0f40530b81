import { createInterface } from 'node:readline'

/** The lines of stdin as they come. Unlike a text that is awaited whole, they may never end. */
export function readLines(): AsyncIterable<string> {
  // Without an output of its own: on a terminal the system shows what is typed.
  return createInterface({ input: process.stdin, terminal: false })
}
