import type { ServiceRequest } from '../service-request.ts'

/** Fewer would cost throughput; more would make the other keys wait longer and gain nothing. */
const startsPerTurn = 32

/** For how many credentials the key is remembered. */
const maxCredentials = 1_000

type QueuedRequest = Pick<ServiceRequest, 'headers' | 'isOver' | 'keyId'>

/** The requests of one key. */
interface Queue {
  keyId: string
  waiting: { request: QueuedRequest; start: () => void }[]
}

/**
 * Starts the requests that have arrived: at most 32 in each turn of the event loop, one of each key in turn, so
 * that a key with many requests does not delay the others. Those of one turn share a count and a transaction.
 *
 * A key is known once a request with it was authenticated. All requests with other credentials, or without
 * one, are in one queue, because a sender can make up any number of credentials.
 */
export class RequestTurns {
  /** By key. No queue is empty. */
  readonly #queues = new Map<string, Queue>()
  /**
   * The same in the order of their turns. If the map had this order, each request would change it. V8 copies a
   * map after some changes, and the old copies keep the requests until a major GC.
   */
  readonly #turns: Queue[] = []
  /** The id of the key of each Authorization header. */
  readonly #keyIds = new Map<string, string>()
  #isScheduled = false

  /** @param start not called if the client disconnects before the turn of the request */
  wait(request: QueuedRequest, start: () => void): void {
    const keyId = this.#keyIds.get(request.headers.authorization ?? '') ?? ''
    const next = { request, start }
    const queue = this.#queues.get(keyId)
    if (queue) queue.waiting.push(next)
    else this.#append({ keyId, waiting: [next] })
    if (!this.#isScheduled) this.#schedule()
  }

  #append(queue: Queue): void {
    this.#queues.set(queue.keyId, queue)
    this.#turns.push(queue)
  }

  /** Call it when the request was authenticated. It has no key if its credential was refused. */
  remember({ headers: { authorization = '' }, keyId }: QueuedRequest): void {
    if (keyId === undefined || this.#keyIds.has(authorization)) return
    if (this.#keyIds.size >= maxCredentials) this.#keyIds.clear()
    this.#keyIds.set(authorization, keyId)
  }

  #schedule(): void {
    this.#isScheduled = true
    setImmediate(() => this.#startNext())
  }

  #startNext(): void {
    this.#isScheduled = false
    for (let left = startsPerTurn; left > 0; ) {
      const queue = this.#turns.shift()
      const next = queue?.waiting.shift()
      if (!queue || !next) return
      if (queue.waiting.length > 0) this.#turns.push(queue)
      else this.#queues.delete(queue.keyId)
      if (next.request.isOver) continue
      next.start()
      left -= 1
    }
    if (this.#turns.length > 0) this.#schedule()
  }
}
