import { parsePastTime } from '../../config/units.ts'
import { Failure } from '../../contract/failure.ts'

/**
 * Reads the value of `--since`.
 *
 * @returns Unix time in ms
 * @throws Failure `usage`
 */
export function readSince(text: string, now: number): number {
  const moment = parsePastTime(text, now)
  if (moment !== undefined) return moment
  throw new Failure(
    'usage',
    `--since: "${text}" is not a date such as 2026-01-31, or a duration such as 7d`,
    {
      hint: 'For example: 7d, 24h, 2026-01-31, or 2026-01-31T08:00:00Z.',
    },
  )
}
