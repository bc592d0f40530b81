import { performance } from 'node:perf_hooks'
import { Pool } from 'undici'

export interface Request {
  method: 'GET' | 'POST'
  path: string
  headers?: Record<string, string>
  body?: string
}

/**
 * Sends requests over so many connections, one after the other on each, for so many of them in all.
 * @returns requests per second
 * @throws Error for a status other than 2xx: what is refused is fast, and proves nothing
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
