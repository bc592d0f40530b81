/**
 * Two connections of one process to one file must take turns here: SQLite itself makes the second
 * wait by blocking the thread, and the first, on the same thread, could then never finish.
 */
export interface Lock {
  /** Settles when the caller holds the lock; it must then call `release` once. */
  acquire(): Promise<void>
  release(): void
}

const locks = new Map<string, Lock>()

/** The lock of a database file, the same one for every connection in this process. */
export function lockOf(path: string): Lock {
  const known = locks.get(path)
  if (known) return known
  const lock = createLock()
  locks.set(path, lock)
  return lock
}

function createLock(): Lock {
  const waiting: (() => void)[] = []
  let held = false
  return {
    async acquire() {
      if (!held) {
        held = true
        return
      }
      await new Promise<void>((resolve) => waiting.push(resolve))
    },
    release() {
      const next = waiting.shift()
      if (next) next()
      else held = false
    },
  }
}
