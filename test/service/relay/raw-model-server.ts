import type { AddressInfo } from 'node:net'
import { createServer, type Socket } from 'node:net'

export interface RawModelServer {
  /** Includes `/v1`. */
  url: string
  /** The bytes of each complete request, oldest first. */
  requests: string[]
  /** Number of open connections. */
  open(): number
  /** `performance.now()` when the last connection was closed by the other end or interrupted. */
  closedAt(): number | undefined
}

/** Runs a server on loopback that sends exactly the bytes of the script after each complete request. */
export async function withRawModelServer<T>(
  answer: (socket: Socket, request: string) => unknown,
  use: (modelServer: RawModelServer) => Promise<T>,
): Promise<T> {
  const sockets = new Set<Socket>()
  const requests: string[] = []
  let closedAt: number | undefined
  const server = createServer((socket) => {
    sockets.add(socket)
    let text = ''
    socket.on('error', () => {})
    socket.on('close', () => {
      sockets.delete(socket)
      closedAt = performance.now()
    })
    socket.on('data', (bytes) => {
      text += bytes.toString('latin1')
      const [head = '', body] = text.split('\r\n\r\n', 2)
      if (body === undefined || body.length < Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)) return
      requests.push(text)
      text = ''
      answer(socket, requests.at(-1) ?? '')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  try {
    return await use({
      url: `http://127.0.0.1:${port}/v1`,
      requests,
      open: () => sockets.size,
      closedAt: () => closedAt,
    })
  } finally {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  }
}

/** The head of a response. */
export const head = (type: string, headers: Record<string, string | number> = {}, status = 200): string =>
  `HTTP/1.1 ${status} X\r\ncontent-type: ${type}\r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`

export const chunk = (text: string | Buffer): Buffer =>
  Buffer.concat([
    Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n`),
    Buffer.from(text),
    Buffer.from('\r\n'),
  ])

export const lastChunk = '0\r\n\r\n'

export const events = (...data: (object | string)[]): string =>
  data.map((one) => `data: ${typeof one === 'string' ? one : JSON.stringify(one)}\n\n`).join('')

export const delta = (content: string, finish_reason: string | null = null): object => ({
  choices: [{ index: 0, delta: { content }, finish_reason }],
})

/** A whole completion, as JSON. */
export const whole = (content: string): string =>
  JSON.stringify({ choices: [{ message: { content }, finish_reason: 'stop' }] })
