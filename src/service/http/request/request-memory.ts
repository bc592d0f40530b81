import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Principal } from '../../domain/access/permissions.ts'
import { MemoryBudget } from '../../limits/memory-budget.ts'
import { bodyLimit } from '../listening/server-options.ts'

/** Counts what requests hold against the memory budget, until their responses have left. */
export class RequestMemory {
  readonly work = new LargeWork()
  readonly #budget = new MemoryBudget()
  /** Requests whose body has no length yet. */
  readonly #unmeasured = new WeakMap<FastifyRequest, (bytes: number) => void>()

  /** Before a body is read. One without a length may become as long as any. @throws as `hold` */
  reserveBody(request: FastifyRequest, reply: FastifyReply, principal: Principal): void {
    const { 'content-length': length, 'transfer-encoding': coding } = request.headers
    const bytes = coding === undefined ? Number(length ?? 0) : bodyLimit
    // A larger one is refused, and not read.
    if (bytes === 0 || bytes > bodyLimit) return
    const release = this.#take(reply, principal, bytes)
    if (coding === undefined) return
    this.#unmeasured.set(request, (measured) => {
      release()
      this.#take(reply, principal, measured)
    })
  }

  /** When a body has been read: one that came without a length holds no more than its bytes from now on. */
  measureBody(request: FastifyRequest, bytes: number): void {
    this.#unmeasured.get(request)?.(bytes)
  }

  /** As `Hold` does it. */
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

/** Bytes from which reading, parsing, and writing a text takes milliseconds. */
const largeWork = 256 * 1024

/**
 * Lets one large piece of synchronous work begin in each turn of the event loop. Many of them in one
 * turn would block the loop for as long as all of them take, and nothing else would be answered.
 */
export class LargeWork {
  #last: Promise<void> | undefined

  /** @returns settles when the work may begin; undefined for work that is not large */
  turn(bytes: number): Promise<void> | undefined {
    if (bytes < largeWork) return undefined
    const turn = (this.#last ?? Promise.resolve()).then(
      () => new Promise<void>((begin) => setImmediate(begin)),
    )
    this.#last = turn
    return turn
  }
}
