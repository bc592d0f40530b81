import { once } from 'node:events'

/** Options of Node.js for a process whose live memory is measured. Nothing but loopback can reach the inspector. */
export const inspected = { NODE_OPTIONS: '--inspect=127.0.0.1:0' }

/** Memory of a process, in megabytes. */
export interface Memory {
  /** Objects in use, after a collection of garbage: the heap of V8 and the buffers outside of it. */
  live: number
  resident: number
}

/**
 * Measures a process that runs with `inspected`, over the Chrome DevTools Protocol.
 *
 * @param log what the process has written to stderr
 */
export async function watchMemory(log: string): Promise<{ measure(): Promise<Memory>; close(): void }> {
  const [url] = /ws:\/\/127\.0\.0\.1:\S+/.exec(log) ?? []
  if (url === undefined) throw new Error(`the process has no inspector:\n${log}`)
  const socket = new WebSocket(url)
  const closed = once(socket, 'close').then(() => {
    throw new Error(`the process has ended:\n${log}`)
  })
  closed.catch(() => {})
  await Promise.race([once(socket, 'open'), closed])
  let sent = 0
  const call = async (method: string, params: object = {}) => {
    const id = ++sent
    socket.send(JSON.stringify({ id, method, params }))
    for (;;) {
      const [{ data }] = await Promise.race([once(socket, 'message'), closed])
      const message = JSON.parse(data)
      if (message.id === id) return message.result
    }
  }
  const inMegabytes = (bytes: number) => Math.round(bytes / 2 ** 20)
  return {
    async measure() {
      await call('HeapProfiler.collectGarbage')
      const { result } = await call('Runtime.evaluate', {
        expression: 'process.memoryUsage()',
        returnByValue: true,
      })
      const { heapUsed, external, rss } = result.value as NodeJS.MemoryUsage
      return { live: inMegabytes(heapUsed + external), resident: inMegabytes(rss) }
    },
    close: () => socket.close(),
  }
}
