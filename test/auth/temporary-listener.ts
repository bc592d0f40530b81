import { type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import {
  type LoopbackListener,
  type LoopbackOptions,
  listenOnLoopback,
} from '../../src/auth/loopback-listener.ts'

export const state = 'kq0XbW2tVn4Zr8sYpLhGf3DcAeUo7JiM1N5B6v9wExT'

export interface Visit {
  status: number
  headers: IncomingHttpHeaders
  body: string
}

interface VisitOptions {
  method?: string
  headers?: OutgoingHttpHeaders
}

export interface TemporaryListener {
  listener: LoopbackListener
  host: string
  port: number
  /** The reasons passed to `onIgnored`. */
  ignored: string[]
  /** Requests a target, verbatim, over a separate connection. */
  visit(target: string, options?: VisitOptions): Promise<Visit>
  /** An open connection without a request. It is closed at the end. */
  open(): Promise<Socket>
}

/** Resolves when a connection is closed. Unlike `once(socket, 'close')`, also after an error such as EPIPE. */
export function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once('close', () => resolve()))
}

/** Starts a listener, calls `run`, and closes the listener. */
export async function withListener(
  run: (temporary: TemporaryListener) => Promise<void>,
  options: Partial<LoopbackOptions> = {},
): Promise<void> {
  const ignored: string[] = []
  const listener = await listenOnLoopback({
    host: '127.0.0.1',
    ports: [0],
    path: '/callback',
    state,
    issuer: undefined,
    requiresIssuer: false,
    onIgnored: (reason) => ignored.push(reason),
    ...options,
  })
  const url = new URL(listener.redirectUri)
  const address = { host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port) }
  const sockets: Socket[] = []
  const visit = (path: string, { method = 'GET', headers = {} }: VisitOptions = {}) =>
    new Promise<Visit>((resolve, reject) => {
      const sent = request({ ...address, path, method, headers, agent: false })
      sent.on('error', reject)
      sent.on('response', async (response) => {
        const { statusCode: status = 0, headers } = response
        text(response).then((body) => resolve({ status, headers, body }), reject)
      })
      sent.end()
    })
  const open = () =>
    new Promise<Socket>((resolve, reject) => {
      const socket = connect(address)
      sockets.push(socket)
      socket.once('error', reject)
      socket.once('connect', () => {
        socket.off('error', reject).on('error', () => {})
        socket.resume()
        resolve(socket)
      })
    })
  try {
    await run({ listener, host: url.host, port: address.port, ignored, visit, open })
  } finally {
    for (const socket of sockets) socket.destroy()
    await listener.close()
  }
}
