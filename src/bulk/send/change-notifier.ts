/** Lets any number wait for the next time that something has changed. */
export class ChangeNotifier {
  #next = Promise.withResolvers<void>()

  changed(): Promise<void> {
    return this.#next.promise
  }

  ring(): void {
    const { resolve } = this.#next
    this.#next = Promise.withResolvers<void>()
    resolve()
  }
}
