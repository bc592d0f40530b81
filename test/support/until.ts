import { setTimeout as pause } from 'node:timers/promises'

/** Waits until the condition is true, and fails after a maximum time in ms. */
export async function until(holds: () => boolean | Promise<boolean>, ms = 20_000): Promise<void> {
  const deadline = performance.now() + ms
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`waited ${ms} ms in vain`)
    await pause(2)
  }
}

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
