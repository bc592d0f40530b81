/** Wakes all waiting callers when something has changed. */
export class ChangeNotifier {
  #next = Promise.withResolvers<void>()

  nextChange(): Promise<void> {
    return this.#next.promise
  }

  notify(): void {
    const { resolve } = this.#next
    this.#next = Promise.withResolvers<void>()
    resolve()
  }
}
