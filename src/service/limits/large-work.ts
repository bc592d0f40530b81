/** Bytes from which reading, parsing, and writing a text takes milliseconds. */
const large = 256 * 1024

/**
 * Lets one large piece of synchronous work begin in each turn of the event loop. Many of them in one
 * turn would block the loop for as long as all of them take, and nothing else would be answered.
 */
export class LargeWork {
  #last: Promise<void> | undefined

  /** @returns settles when the work may begin; undefined for work that is not large */
  turn(bytes: number): Promise<void> | undefined {
    if (bytes < large) return undefined
    const turn = (this.#last ?? Promise.resolve()).then(
      () => new Promise<void>((begin) => setImmediate(begin)),
    )
    this.#last = turn
    return turn
  }
}
