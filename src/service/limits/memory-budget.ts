import { ApiError } from '../api-error.ts'

const MiB = 1024 * 1024

/** Maximum bytes of text that the requests of one user, and of all users of a process, may hold at once. */
const defaults = { ofUser: 16 * MiB, ofAll: 64 * MiB }

/**
 * Reserves bytes of memory until the end of the request, and waits until work on that many may begin.
 * @throws ApiError `too_much_at_once`, `too_busy`
 */
export type ReserveMemory = (bytes: number) => Promise<void>

/**
 * Limits the bytes that requests hold at once: of a body, a conversation, or a page of the history, until
 * the response is sent. A request that is larger than a limit is admitted if no other one holds memory,
 * so that no request is refused forever.
 */
export class MemoryBudget {
  readonly #bounds: typeof defaults
  readonly #ofUser = new Map<string, number>()
  #ofAll = 0

  constructor(bounds = defaults) {
    this.#bounds = bounds
  }

  /**
   * @returns releases the bytes; further calls do nothing
   * @throws ApiError `too_much_at_once` for the user, `too_busy` for the process
   */
  reserve(userId: string, bytes: number): () => void {
    const held = this.#ofUser.get(userId) ?? 0
    const { ofUser, ofAll } = this.#bounds
    if (held > 0 && held + bytes > ofUser) {
      throw new ApiError('too_much_at_once', 'Your concurrent requests contain too much text; try again', {
        retryAfter: 1,
      })
    }
    if (this.#ofAll > 0 && this.#ofAll + bytes > ofAll) {
      throw new ApiError('too_busy', 'All concurrent requests contain too much text; try again', {
        retryAfter: 1,
      })
    }
    this.#add(userId, bytes)
    let taken = bytes
    return () => {
      this.#add(userId, -taken)
      taken = 0
    }
  }

  #add(userId: string, bytes: number): void {
    this.#ofAll += bytes
    const held = (this.#ofUser.get(userId) ?? 0) + bytes
    if (held > 0) this.#ofUser.set(userId, held)
    else this.#ofUser.delete(userId)
  }
}
