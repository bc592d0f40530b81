/**
 * Lets work that runs at the same time go on together.
 *
 * @returns resolves for all callers once there are `count` of them
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
