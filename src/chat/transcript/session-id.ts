import { basename } from 'node:path'
import { systemClock } from '../../system/clock.ts'

const letters = 'abcdefghijkmnpqrstuvwxyz23456789'

/** The file extension of transcripts. */
export const extension = '.jsonl'

/**
 * An ID that sorts by time and begins with what a person can type: `s20261121-142233-k3f9`. The time
 * is in UTC, so that IDs also sort when daylight saving time ends.
 */
export function makeSessionId(now: Date): string {
  const [date = '', time = ''] = now.toISOString().slice(0, 19).replaceAll(/[-:]/g, '').split('T')
  // Not of the host's clock, which may return one number only. The Web Crypto API takes 3 ms to load.
  const letter = () => letters[Math.floor(systemClock.random() * letters.length)]
  return `s${date}-${time}-${Array.from({ length: 4 }, letter).join('')}`
}

/** The ID of the session whose transcript is at a path. */
export function sessionIdOf(path: string): string {
  return basename(path, extension)
}
