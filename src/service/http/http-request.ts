import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../api-error.ts'
import { clientDisconnected } from '../to-api-error.ts'
import { bodyLimit, bodyTooLarge, type ServiceRequest } from './service-request.ts'

/** A request that arrives over HTTP. */
export class HttpRequest implements ServiceRequest {
  endpoint?: string
  keyId?: string
  streamError?: string
  readonly id: string
  readonly method: string
  readonly url: string
  readonly headers: FastifyRequest['headers']
  readonly log: FastifyRequest['log']
  readonly #request: FastifyRequest
  readonly #response: ServerResponse

  constructor(request: FastifyRequest, { raw: response }: FastifyReply) {
    this.id = request.id
    this.method = request.method
    this.url = request.url
    this.headers = request.headers
    this.log = request.log
    this.#request = request
    this.#response = response
  }

  /** An invalid host is not repeated in a page. */
  get origin(): string {
    const { protocol, host, socket } = this.#request
    const scheme = protocol === 'https' ? 'https' : 'http'
    const isHost = /^([a-z0-9.-]{1,253}|\[[0-9a-f:.]{2,45}\])(:\d{1,5})?$/i.test(host)
    const url = `${scheme}://${host}`
    if (isHost && URL.canParse(url)) return new URL(url).origin
    return new URL(`${scheme}://127.0.0.1:${socket.localPort}`).origin
  }

  readBody(): Promise<Uint8Array> {
    return readBody(this.#request.raw)
  }

  get connection(): Socket {
    return this.#request.raw.socket
  }

  /** Node does not close a response that waits for an earlier one of its connection. */
  get isOver(): boolean {
    return this.#response.closed || this.#response.destroyed || this.connection.destroyed
  }

  get isAnswered(): boolean {
    return this.#response.writableFinished
  }

  onOver(listener: () => void): void {
    this.#response.once('close', listener)
  }
}

function readBody(incoming: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    const onData = (chunk: Buffer) => {
      length += chunk.length
      if (length <= bodyLimit) return void chunks.push(chunk)
      // If the connection closed while the body still arrives, it would be reset, and some clients would
      // lose the response. The rest is discarded, until the request timeout.
      chunks.length = 0
      incoming.off('data', onData).resume()
      reject(new ApiError('payload_too_large', bodyTooLarge))
    }
    incoming.on('data', onData)
    incoming.once('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)))
    incoming.once('error', () => reject(clientDisconnected()))
    incoming.once('close', () => {
      if (!incoming.complete) reject(clientDisconnected())
    })
  })
}
