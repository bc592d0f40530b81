import { performance } from 'node:perf_hooks'
import { Pool } from 'undici'

export interface Request {
  method: 'GET' | 'POST'
  path: string
  headers?: Record<string, string>
  body?: string
}

/**
 * Sends a number of requests over several connections, one at a time on each.
 * @returns requests per second
 * @throws Error for a status other than 2xx: a refused request is fast and would distort the result
 */
export async function load(
  url: string,
  request: Request,
  { connections, count }: { connections: number; count: number },
): Promise<number> {
  const pool = new Pool(url, { connections, pipelining: 1 })
  let left = count
  const startedAt = performance.now()
  const worker = async (): Promise<void> => {
    while (left-- > 0) {
      const { statusCode, body } = await pool.request({ ...request, headers: request.headers ?? {} })
      await body.dump()
      if (statusCode >= 300) throw new Error(`${request.method} ${request.path} was answered ${statusCode}`)
    }
  }
  await Promise.all(Array.from({ length: connections }, worker))
  const seconds = (performance.now() - startedAt) / 1000
  await pool.close()
  return count / seconds
}
