import { Pool } from 'undici'

/**
 * Sends `count` requests over several connections at the same time. Counts how many are admitted and how many are
 * rejected with 429. Fails with the body of any other response.
 */
export async function load(url: string, key: string, count: number, connections: number) {
  const pool = new Pool(url, { connections, pipelining: 1 })
  const statuses = await Promise.all(
    Array.from({ length: count }, async () => {
      const { statusCode, body } = await pool.request({
        method: 'GET',
        path: '/api/user/profile',
        headers: { authorization: `Bearer ${key}` },
      })
      const text = await body.text()
      if (statusCode !== 200 && statusCode !== 429) throw new Error(`${statusCode} ${text}`)
      return statusCode
    }),
  )
  await pool.close()
  const admitted = statuses.filter((status) => status === 200).length
  return { admitted, refused: count - admitted }
}

/** Repeats the work if the clock hour changed meanwhile, because then twice the limit is correct. */
export async function withinOneHour(work: () => Promise<void>): Promise<void> {
  const hour = () => Math.floor(Date.now() / 3_600_000)
  for (;;) {
    const before = hour()
    try {
      return await work()
    } catch (error) {
      if (hour() === before) throw error
    }
  }
}
