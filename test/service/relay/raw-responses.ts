import type { Socket } from 'node:net'
import type { Completion } from '../../support/model-server.ts'

/** A completion that writes bytes. The response has no socket if an earlier one was never ended. */
export const onSocket =
  (write: (socket: Socket) => unknown): Completion =>
  ({ req }) =>
    write(req.socket)

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
