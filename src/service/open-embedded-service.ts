import type { Readable } from 'node:stream'
import { serviceStopping } from './api-error.ts'
import { generateKey } from './domain/access/keys.ts'
import { InProcessRequest, type ProcessRequest } from './http/in-process-request.ts'
import { abortGrace, defaultDrain, type OpenOptions, openService } from './open-service.ts'

/** A response whose body has not been read. */
interface ProcessResponse {
  status: number
  statusText: string
  /** Names are lower case. */
  headers: Record<string, string>
  /** The next bytes; undefined at the end. The service produces no more than a buffer in advance. */
  read(): Promise<Uint8Array | undefined>
  /** Ends the request if the body has not been read to its end. */
  cancel(): void
}

/** The service without a server: only this process can send requests. */
export interface EmbeddedService {
  dataDir: string
  /** This call created the data. */
  created: boolean
  /** An API key that exists only in this process and acts as the built-in admin. */
  key: string
  /** Responds as over HTTP. @param signal aborted when nobody waits for the response any more */
  request(request: ProcessRequest, signal: AbortSignal): Promise<ProcessResponse>
  /** Lets the requests in progress end, and closes the database. */
  close(): Promise<void>
}

/**
 * Opens the service for the requests of this process. It does not listen, and has no OAuth server.
 * @throws Failure as `openService`
 */
export async function openEmbeddedService(options: OpenOptions): Promise<EmbeddedService> {
  const key = generateKey()
  const service = await openService(options, { isProcessKey: (given) => given === key })
  const { dataDir, store, pipeline } = service
  const requests = new Set<InProcessRequest>()
  const inProgress = new Set<Promise<unknown>>()
  const follow = (work: Promise<unknown>) => {
    inProgress.add(work)
    const forget = () => inProgress.delete(work)
    work.then(forget, forget)
  }

  const respond = async (request: InProcessRequest): Promise<ProcessResponse> => {
    const { status, headers, body } = await pipeline.respond(request)
    const head = { status, statusText: reasonOf(status), headers }
    if (body !== undefined && typeof body !== 'string') {
      follow(new Promise((resolve) => body.once('close', resolve)))
      return { ...head, ...readEvents(body, request) }
    }
    if (body !== undefined) head.headers['content-length'] ??= String(Buffer.byteLength(body))
    request.end(true)
    let rest = body && request.method !== 'HEAD' ? Buffer.from(body) : undefined
    const read = async () => {
      const next = rest
      rest = undefined
      return next
    }
    return { ...head, read, cancel: () => {} }
  }

  let closing: Promise<void> | undefined
  const shutDown = async () => {
    pipeline.readiness.stop()
    const abort = setTimeout(() => service.abort(serviceStopping()), defaultDrain)
    const drop = setTimeout(() => {
      for (const request of requests) request.end(false)
    }, defaultDrain + abortGrace)
    while (inProgress.size > 0) await Promise.allSettled(inProgress)
    clearTimeout(abort)
    clearTimeout(drop)
    await pipeline.close()
    await service.close()
  }

  return {
    dataDir,
    created: store.created,
    key,
    request(given, signal) {
      const request = new InProcessRequest(given)
      const leave = () => request.end(false)
      requests.add(request)
      request.onOver(() => {
        signal.removeEventListener('abort', leave)
        requests.delete(request)
      })
      if (signal.aborted) leave()
      else signal.addEventListener('abort', leave, { once: true })
      const work = respond(request)
      follow(work)
      return work
    },
    close() {
      closing ??= shutDown()
      return closing
    },
  }
}

function readEvents(body: Readable, request: InProcessRequest): Pick<ProcessResponse, 'read' | 'cancel'> {
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
