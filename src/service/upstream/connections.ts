import { buildConnector, type Dispatcher, Pool } from 'undici'

/** Connections to one origin, each kept for the next request when an answer is over. */
export interface Connections {
  request(options: Dispatcher.RequestOptions): Promise<Dispatcher.ResponseData>
  close(): Promise<void>
}

/**
 * A server may close a connection that is kept just when a request leaves on it, and so before it
 * has seen the request: that is asked once more, on a new connection. What breaks on a new one is
 * not asked again, for the request may be what broke it.
 * @param timeouts in ms: to connect, and between two pieces of a body
 */
export function openConnections(origin: string, timeouts: { connect: number; idle: number }): Connections {
  /** Failures of connections over which something had come before. */
  const outlived = new WeakSet<object>()
  const connect = buildConnector({ allowH2: false, timeout: timeouts.connect })
  const watched: buildConnector.connector = (options, callback) =>
    connect(options, (...result) => {
      const [, socket] = result
      socket?.once('error', (error) => {
        if (socket.bytesRead > 0) outlived.add(error)
      })
      callback(...result)
    })
  // One connection for each answer: leaving a stream closes it, which every server notices.
  const options = { allowH2: false, connect: watched, bodyTimeout: timeouts.idle }
  const kept = new Pool(origin, options)
  let unkept: Pool | undefined

  return {
    async request(request) {
      try {
        return await kept.request(request)
      } catch (error) {
        if (!outlived.has(Object(error))) throw error
        unkept ??= new Pool(origin, { ...options, pipelining: 0 })
        return await unkept.request(request)
      }
    },
    async close() {
      await Promise.all([kept.destroy(), unkept?.destroy()])
    },
  }
}
