/** What a page says while an account or a network address is locked for so many seconds. */
export function locked(seconds: number): { alert: string; retryAfter: number } {
  const minutes = Math.ceil(seconds / 60)
  const words = minutes === 1 ? 'a minute' : `${minutes} minutes`
  return { alert: `Too many attempts. Try again in ${words}.`, retryAfter: seconds }
}
