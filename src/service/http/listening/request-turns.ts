import type { ServiceRequest } from '../service-request.ts'

/** Fewer would cost throughput; more would make the other keys wait longer and gain nothing. */
const startsPerTurn = 32

/** For how many credentials the key is remembered. */
const maxCredentials = 1_000

/**
 * How many requests of one connection may wait. A client need not wait for responses (RFC 9112 section 9.3.2), so
 * without a maximum it could fill the memory.
 */
const maxPipelined = 1_000

type QueuedRequest = Pick<ServiceRequest, 'headers' | 'isOver' | 'keyId'> & {
  connection: { destroy(): void }
}

interface WaitingRequest {
  request: QueuedRequest
  start: () => void
}

/**
 * Starts the requests that have arrived: at most 32 in each turn of the event loop, one of each key in turn, so
 * that a key with many requests does not delay the others. Those of one turn share a count and a transaction.
 *
 * A key is known once a request with it was authenticated. All requests with other credentials, or without
 * one, are in one queue, because a sender can make up any number of credentials.
 */
export class RequestTurns {
  /** By key, in the order of their turns. No queue is empty. */
  readonly #waiting = new Map<string, WaitingRequest[]>()
  /** The id of the key of each Authorization header. */
  readonly #keyIds = new Map<string, string>()
  /** How many requests of each connection wait. */
  readonly #pipelined = new Map<object, number>()
  #isScheduled = false

  /**
   * Closes the connection if too many of its requests wait.
   * @param start not called if the client disconnects before the turn of the request
   */
  wait(request: QueuedRequest, start: () => void): void {
    const { connection } = request
    const pipelined = this.#pipelined.get(connection) ?? 0
    if (pipelined >= maxPipelined) {
      connection.destroy()
      return
    }
    this.#pipelined.set(connection, pipelined + 1)
    const keyId = this.#keyIds.get(request.headers.authorization ?? '') ?? ''
    const queue = this.#waiting.get(keyId)
    if (queue) queue.push({ request, start })
    else this.#waiting.set(keyId, [{ request, start }])
    if (!this.#isScheduled) this.#schedule()
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
    let left = startsPerTurn
    // A key that has further requests is appended, so the loop comes to it again.
    for (const [keyId, queue] of this.#waiting) {
      const next = queue.shift()
      this.#waiting.delete(keyId)
      if (queue.length > 0) this.#waiting.set(keyId, queue)
      if (!next) continue
      this.#leave(next.request.connection)
      if (next.request.isOver) continue
      next.start()
      left -= 1
      if (left === 0) break
    }
    if (this.#waiting.size > 0) this.#schedule()
  }

  #leave(connection: object): void {
    const left = (this.#pipelined.get(connection) ?? 1) - 1
    if (left === 0) this.#pipelined.delete(connection)
    else this.#pipelined.set(connection, left)
  }
}
