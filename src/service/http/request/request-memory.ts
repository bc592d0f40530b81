import type { Principal } from '../../domain/access/permissions.ts'
import { MemoryBudget } from '../../limits/memory-budget.ts'
import { bodyLimit, type ServiceRequest } from '../service-request.ts'

/** Counts the bytes of requests against the memory budget until their responses are sent. */
export class RequestMemory {
  readonly work = new LargeWork()
  readonly #budget = new MemoryBudget()

  /**
   * Call it before the body is read. A body of unknown length counts with the maximum size.
   * @returns to be called with the size of the body when it has been read
   * @throws as `reserve`
   */
  reserveBody(request: ServiceRequest, principal: Principal): (measured: number) => void {
    const { 'content-length': length, 'transfer-encoding': coding } = request.headers
    const bytes = coding === undefined ? Number(length ?? 0) : bodyLimit
    // A larger body is refused and not read.
    if (bytes === 0 || bytes > bodyLimit) return () => {}
    const release = this.#take(request, principal, bytes)
    return (measured) => {
      if (measured === bytes) return
      release()
      this.#take(request, principal, measured)
    }
  }

  /** See `ReserveMemory`. */
  async reserve(request: ServiceRequest, principal: Principal, bytes: number): Promise<void> {
    this.#take(request, principal, bytes)
    await this.work.turn(bytes)
  }

  #take(request: ServiceRequest, { userId }: Principal, bytes: number): () => void {
    const release = this.#budget.reserve(userId, bytes)
    if (request.isOver) release()
    else request.onOver(release)
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
