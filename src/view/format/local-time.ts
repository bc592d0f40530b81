import { isNumber } from '../../contract/notation/exact-json.ts'

const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/

/**
 * A time in the local time zone, to the minute: `2026-11-21 23:00`.
 *
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
