import { isNumber } from '../../contract/notation/exact-json.ts'
import { describeDuration } from '../../system/clock.ts'

/** `12,345`. */
export function groupDigits(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ',')
}

/** `1 message`, `12,345 messages`. */
export function countOf(count: number, noun: string): string {
  return `${groupDigits(count)} ${noun}${count === 1 ? '' : 's'}`
}

const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'] as const

/** `1 byte`, `512 bytes`, `1.5 MiB`, `20 GiB`. */
export function describeBytes(count: number): string {
  if (count === 1) return '1 byte'
  let value = count
  let unit = 0
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024
    unit++
  }
  const digits = unit > 0 && value < 10 ? 1 : 0
  return `${value.toFixed(digits)} ${units[unit]}`
}

const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/

/**
 * A time in the local time zone, to the minute: `2026-11-21 23:00`.
 * @param value ISO 8601 with a time zone, or seconds since the epoch
 * @returns undefined for any other value
 */
export function localTime(value: unknown): string | undefined {
  const at = new Date(isNumber(value) ? Number(value) * 1000 : textOfInstant(value))
  if (Number.isNaN(at.getTime())) return undefined
  const two = (part: number): string => String(part).padStart(2, '0')
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}`
}

function textOfInstant(value: unknown): string {
  return typeof value === 'string' && instant.test(value) ? value : ''
}

/** How long ago something was: `1 s ago`, `2 h 5 min ago`, `3 days ago`. */
export function describeAge(ms: number): string {
  const days = Math.floor(ms / 86_400_000)
  return `${days > 1 ? countOf(days, 'day') : describeDuration(Math.max(1000, ms))} ago`
}
