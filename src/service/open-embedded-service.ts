import type { Readable } from 'node:stream'
import type { HttpRequest, OpenResponse } from '../system/network/transport.ts'
import { serviceStopping } from './api-error.ts'
import { createId } from './domain/identifiers.ts'
import { requestIdFor, type ServiceRequest } from './http/service-request.ts'
import {
  abortGrace,
  defaultDrain,
  type OpenedService,
  type OpenOptions,
  openService,
} from './open-service.ts'

/**
 * Opens the service for the requests of this process. It does not listen, and has no OAuth server.
 * @throws Failure as `openService`
 */
export async function openEmbeddedService(options: OpenOptions): Promise<EmbeddedService> {
  // Unique is enough, because no other process can send a request.
  const key = createId('key')
  return new EmbeddedService(await openService(options, { isProcessKey: (given) => given === key }), key)
}

/** A request of the process that runs the service. */
class InProcessRequest implements ServiceRequest {
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

/** The service without a server: only this process can send requests. */
export class EmbeddedService {
  readonly dataDir: string
  /** This call created the data. */
  readonly created: boolean
  /** The copy of older data that this call has migrated. */
  readonly backup: string | undefined
  /** An API key that exists only in this process and acts as the built-in admin. */
  readonly key: string
  readonly #service: OpenedService
  readonly #requests = new Set<InProcessRequest>()
  readonly #inProgress = new Set<Promise<unknown>>()
  #closing: Promise<void> | undefined

  constructor(service: OpenedService, key: string) {
    this.dataDir = service.dataDir
    this.created = service.store.created
    this.backup = service.store.backup
    this.key = key
    this.#service = service
  }

  /** Responds as over HTTP. @param signal aborted when no client waits for the response any more */
  request = (given: HttpRequest, signal: AbortSignal): Promise<OpenResponse> => {
    const request = new InProcessRequest(given)
    const leave = () => request.end(false)
    this.#requests.add(request)
    request.onOver(() => {
      signal.removeEventListener('abort', leave)
      this.#requests.delete(request)
    })
    if (signal.aborted) leave()
    else signal.addEventListener('abort', leave, { once: true })
    const work = this.#respond(request)
    this.#follow(work)
    return work
  }

  /** Lets the requests in progress end, and closes the database. */
  close = (): Promise<void> => {
    this.#closing ??= this.#shutDown()
    return this.#closing
  }

  async #respond(request: InProcessRequest): Promise<OpenResponse> {
    const { status, headers, body } = await this.#service.pipeline.respond(request)
    const head = { status, statusText: reasonOf(status), headers }
    if (body !== undefined && typeof body !== 'string') {
      this.#follow(new Promise((resolve) => body.once('close', resolve)))
      return { ...head, ...readEvents(body, request) }
    }
    if (body !== undefined) headers['content-length'] ??= String(Buffer.byteLength(body))
    request.end(true)
    let rest = body && request.method !== 'HEAD' ? Buffer.from(body) : undefined
    const read = async () => {
      const next = rest
      rest = undefined
      return next
    }
    return { ...head, read, cancel: () => {} }
  }

  #follow(work: Promise<unknown>): void {
    this.#inProgress.add(work)
    const forget = () => this.#inProgress.delete(work)
    work.then(forget, forget)
  }

  async #shutDown(): Promise<void> {
    const { pipeline, abort, close } = this.#service
    pipeline.readiness.stop()
    const end = setTimeout(() => abort(serviceStopping()), defaultDrain)
    const drop = setTimeout(() => {
      for (const request of this.#requests) request.end(false)
    }, defaultDrain + abortGrace)
    while (this.#inProgress.size > 0) await Promise.allSettled(this.#inProgress)
    clearTimeout(end)
    clearTimeout(drop)
    await pipeline.close()
    await close()
  }
}

/** The service produces no more than a buffer in advance. */
function readEvents(body: Readable, request: InProcessRequest): Pick<OpenResponse, 'read' | 'cancel'> {
  const chunks: AsyncIterator<Uint8Array> = body[Symbol.asyncIterator]()
  const cancel = () => request.end(false)
  if (request.isOver) body.destroy()
  else
    request.onOver(() => {
      if (!request.isAnswered) body.destroy()
    })
  const read = async () => {
    const { done, value } = await chunks.next()
    if (!done) return value
    request.end(true)
    return undefined
  }
  return { read, cancel }
}

/** RFC 9110 section 15. The names of errors are loaded on demand. */
function reasonOf(status: number): string {
  const names: Record<number, string> = { 200: 'OK', 201: 'Created', 204: 'No Content' }
  return names[status] ?? process.getBuiltinModule('node:http').STATUS_CODES[status] ?? ''
}
