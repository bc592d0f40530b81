import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Principal } from '../../domain/access/permissions.ts'
import { MemoryBudget } from '../../limits/memory-budget.ts'
import { bodyLimit } from '../listening/server-options.ts'

/** Counts the bytes of requests against the memory budget until their responses are sent. */
export class RequestMemory {
  readonly work = new LargeWork()
  readonly #budget = new MemoryBudget()
  /** Requests whose body has no known length yet. */
  readonly #unmeasured = new WeakMap<FastifyRequest, (bytes: number) => void>()

  /** Call it before the body is read. A body of unknown length counts with the maximum size. @throws as `reserve` */
  reserveBody(request: FastifyRequest, reply: FastifyReply, principal: Principal): void {
    const { 'content-length': length, 'transfer-encoding': coding } = request.headers
    const bytes = coding === undefined ? Number(length ?? 0) : bodyLimit
    // A larger body is refused and not read.
    if (bytes === 0 || bytes > bodyLimit) return
    const release = this.#take(reply, principal, bytes)
    if (coding === undefined) return
    this.#unmeasured.set(request, (measured) => {
      release()
      this.#take(reply, principal, measured)
    })
  }

  /** Call it when the body has been read. A body of unknown length counts with its size from now on. */
  measureBody(request: FastifyRequest, bytes: number): void {
    this.#unmeasured.get(request)?.(bytes)
  }

  /** See `ReserveMemory`. */
  async reserve(reply: FastifyReply, principal: Principal, bytes: number): Promise<void> {
    this.#take(reply, principal, bytes)
    await this.work.turn(bytes)
  }

  #take({ raw }: FastifyReply, { userId }: Principal, bytes: number): () => void {
    const release = this.#budget.reserve(userId, bytes)
    if (raw.closed) release()
    else raw.once('close', release)
    return release
  }
}

/** In bytes. To read, parse, or write a larger text takes milliseconds. */
const largeWork = 256 * 1024

/**
 * Starts at most one large piece of synchronous work in each turn of the event loop. Several in one turn
 * would block all other requests until the last one is done.
 */
export class LargeWork {
  #last: Promise<void> | undefined

  /** @returns settles when the work may begin; undefined if the work is not large */
  turn(bytes: number): Promise<void> | undefined {
    if (bytes < largeWork) return undefined
    const turn = (this.#last ?? Promise.resolve()).then(
      () => new Promise<void>((begin) => setImmediate(begin)),
    )
    this.#last = turn
    return turn
  }
}
