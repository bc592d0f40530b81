/**
 * Makes concurrent work wait until all of it has reached the same point.
 *
 * @returns a function whose promises resolve when it has been called `count` times
 */
export function barrier(count: number): () => Promise<void> {
  let callers = 0
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return () => {
    if (++callers === count) open()
    return opened
  }
}
