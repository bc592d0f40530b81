/** A maximum number of requests per window. A window begins with its first request. */
export interface ConfiguredQuota {
  requests: number
  /** In ms. */
  window: number
}

const second = 1000
const hour = 3600 * second

/** Default window in ms (docs/interface.md, "Limits": hourly). */
export const usualWindow = hour

const windows: Record<string, number> = { s: second, m: 60 * second, h: hour, d: 24 * hour }

/** docs/interface.md, "Limits". */
const tiers: Record<string, ConfiguredQuota> = {
  free: { requests: 100, window: hour },
  pro: { requests: 1000, window: hour },
}

/** Reads `100/h`, `60/m`, `5/s`, `10000/d`, or the name of a tier. @throws Error with a description of the fault */
export function parseQuota(text: string): ConfiguredQuota {
  const word = text.trim().toLowerCase()
  const tier = Object.hasOwn(tiers, word) ? tiers[word] : undefined
  if (tier) return { ...tier }
  if (word === 'enterprise') {
    throw new Error('the enterprise tier has no standard rate limit: give a number, such as 5000/h')
  }
  const [, count = '', unit = ''] = /^(\d{1,9})\s*\/\s*([smhd])$/.exec(word) ?? []
  const window = windows[unit]
  if (window === undefined) throw new Error(`"${text}" is not a rate limit such as 100/h, 60/m, free, or pro`)
  if (Number(count) === 0) throw new Error(`"${text}" would allow no request`)
  return { requests: Number(count), window }
}
