/**
 * A time soon to come, on the person's own clock: `14:05`, to the second within two minutes, and
 * with its date where that is another.
 * @param at milliseconds since the epoch
 */
export function describeTime(at: number, now = Date.now()): string {
  const then = new Date(at)
  const two = (value: number) => String(value).padStart(2, '0')
  const time = [then.getHours(), then.getMinutes(), ...(at - now < 120_000 ? [then.getSeconds()] : [])]
    .map(two)
    .join(':')
  if (then.toDateString() === new Date(now).toDateString()) return time
  return `${then.getFullYear()}-${two(then.getMonth() + 1)}-${two(then.getDate())} ${time}`
}
