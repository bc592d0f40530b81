import type { HttpRequest } from '../../system/network/transport.ts'
import { requestIdFor, type ServiceRequest } from './service-request.ts'

/** A request of the process that runs the service. */
export class InProcessRequest implements ServiceRequest {
  endpoint?: string
  keyId?: string
  readonly id: string
  readonly method: string
  readonly url: string
  readonly headers: Record<string, string>
  readonly origin: string
  readonly log = undefined
  isOver = false
  isAnswered = false
  readonly #body: Uint8Array
  readonly #listeners: (() => void)[] = []

  constructor({ method, url, headers, body = '' }: HttpRequest) {
    this.#body = typeof body === 'string' ? Buffer.from(body) : body
    this.method = method
    this.url = url.pathname + url.search
    this.origin = url.origin
    this.headers = {
      host: url.host,
      ...headers,
      'content-length': String(this.#body.length),
    }
    this.id = requestIdFor(this.headers)
  }

  readBody(): Promise<Uint8Array> {
    return Promise.resolve(this.#body)
  }

  onOver(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /** Call it when the whole response was read, or the reader is gone. Further calls do nothing. */
  end(isAnswered: boolean): void {
    if (this.isOver) return
    this.isOver = true
    this.isAnswered = isAnswered
    for (const listener of this.#listeners) listener()
  }
}
