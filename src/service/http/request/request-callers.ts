import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyRequest } from 'fastify'
import type { Caller } from '../../domain/access/caller.ts'
import { Refusal } from '../../domain/refusal.ts'

/** How long, in ms, a request may take to arrive without being asked again whose it is. */
const promptArrival = 500

/** Whom the requests that are being answered act as. */
export class RequestCallers {
  readonly #find: (headers: IncomingHttpHeaders) => Promise<Caller>
  readonly #known = new WeakMap<FastifyRequest, { caller: Caller; at: number }>()

  /** @param find as `authenticate` does it */
  constructor(find: (headers: IncomingHttpHeaders) => Promise<Caller>) {
    this.#find = find
  }

  /** Finds out whose a request is. @throws Refusal `unauthorized` */
  async identify(request: FastifyRequest): Promise<Caller> {
    const caller = await this.#find(request.headers)
    this.#known.set(request, { caller, at: performance.now() })
    return caller
  }

  /** Undefined for a request of nobody, or before `identify`. */
  find(request: FastifyRequest): Caller | undefined {
    return this.#known.get(request)?.caller
  }

  /** The same where there must be one. @throws Refusal `unauthorized` */
  of(request: FastifyRequest): Caller {
    const caller = this.find(request)
    if (caller) return caller
    throw new Refusal('unauthorized', 'The API key is not valid')
  }

  /** Whether a body came so late that rights may have been taken away meanwhile. */
  isLate(request: FastifyRequest): boolean {
    return performance.now() - (this.#known.get(request)?.at ?? 0) > promptArrival
  }
}
