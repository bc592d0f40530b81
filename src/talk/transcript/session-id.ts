import { basename } from 'node:path'

const letters = 'abcdefghijkmnpqrstuvwxyz23456789'

/** The file extension of transcripts. */
export const extension = '.jsonl'

/**
 * An ID that sorts by time and begins with what a person can type: `s20261121-142233-k3f9`. The time
 * is in UTC, so that IDs also sort when daylight saving time ends.
 */
export function makeSessionId(now: Date): string {
  const [date = '', time = ''] = now.toISOString().slice(0, 19).replaceAll(/[-:]/g, '').split('T')
  const random = crypto.getRandomValues(new Uint8Array(4))
  return `s${date}-${time}-${Array.from(random, (byte) => letters[byte % letters.length]).join('')}`
}

/** The ID of the session whose transcript is at a path. */
export function sessionIdOf(path: string): string {
  return basename(path, extension)
}
