/** What a page says when the next attempt has to wait for so many seconds. */
export function askToWait(seconds: number): { alert: string; retryAfter: number } {
  const [count, unit] = seconds < 60 ? [seconds, 'second'] : [Math.ceil(seconds / 60), 'minute']
  const words = `${count} ${unit}${count === 1 ? '' : 's'}`
  return { alert: `Too many failed attempts. Try again in ${words}.`, retryAfter: seconds }
}
