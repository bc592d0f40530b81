/** Wakes all waiting callers when something has changed. */
export class ChangeNotifier {
  /** Undefined if nobody waits. */
  #next: PromiseWithResolvers<void> | undefined

  nextChange(): Promise<void> {
    this.#next ??= Promise.withResolvers()
    return this.#next.promise
  }

  notify(): void {
    this.#next?.resolve()
    this.#next = undefined
  }
}
