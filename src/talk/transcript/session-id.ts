import { basename } from 'node:path'

const letters = 'abcdefghijkmnpqrstuvwxyz23456789'

/** What the names of transcripts end in. */
export const extension = '.jsonl'

/**
 * An id that sorts by time, with a beginning that a person can type: `s20261121-142233-k3f9`, in
 * UTC so that it sorts on the day the clocks change, too.
 */
export function makeSessionId(now: Date): string {
  const [date = '', time = ''] = now.toISOString().slice(0, 19).replaceAll(/[-:]/g, '').split('T')
  const random = crypto.getRandomValues(new Uint8Array(4))
  return `s${date}-${time}-${Array.from(random, (byte) => letters[byte % letters.length]).join('')}`
}

/** The id of the session whose transcript is at a path. */
export function sessionIdOf(path: string): string {
  return basename(path, extension)
}
