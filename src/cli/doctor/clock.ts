import { type Examined, ok, skipped, warning } from './finding.ts'

/** A clock that is further off, in ms, makes tokens and waits go wrong. */
const tolerance = 60_000

const howToSet: Partial<Record<NodeJS.Platform, string>> = {
  darwin: 'sudo sntp -sS time.apple.com',
  win32: 'w32tm /resync',
}

/**
 * RFC 9110 section 6.6.1: Date is when the answer was made, to the second.
 *
 * @param date of an answer; undefined where there was none
 */
export function examineClock(date: string | undefined, now: number): Examined {
  const said = Date.parse(date ?? '')
  if (Number.isNaN(said)) return skipped('clock', 'no response has a Date header')
  const off = now - said
  if (Math.abs(off) <= tolerance) return ok('clock', 'matches the clock of the service')
  const way = off > 0 ? 'ahead of' : 'behind'
  const seconds = Math.round(Math.abs(off) / 1_000)
  return warning(
    'clock',
    `is ${seconds} s ${way} the clock of the service, so tokens are renewed and rate limits are timed wrongly`,
    howToSet[process.platform] ?? 'sudo timedatectl set-ntp true',
  )
}
