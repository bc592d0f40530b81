import type { Host } from '../cli/host.ts'

/** Each flag, and V8's default. */
const flags = [
  ['--semi-space-growth-factor=1', '--semi-space-growth-factor=2'],
  ['--heap-growing-percent=150', '--heap-growing-percent=0'],
  ['--no-maglev', '--maglev'],
  ['--optimize-for-size', '--no-optimize-for-size'],
] as const

const bound = new Set<(typeof flags)[number]>()

/**
 * Sets V8 flags that bound heap growth while streaming: the space for new objects does not grow, the heap grows to
 * 2.5 times of what is in use, and, for `memory`, the Maglev compiler is off and the heap is collected more often. By
 * default, V8 accumulates up to 100 MB of garbage before it collects. An import of 20,000 users takes 159 MB by default,
 * 125 MB with the first flag, 116 MB with the second one, and 111 MB with all of them. The first two cost little time,
 * the others 20% of an import, and 40% of reading 20,000 users.
 */
export const keepHeapSmall: Host['keepHeapSmall'] = (most = 'memory') => {
  for (const flag of most === 'memory' ? flags : flags.slice(0, 2)) {
    bound.add(flag)
    setFlag(flag[0])
  }
}

/** Does something under V8's defaults: V8 rejects a code cache that was created under other flags. */
export function withDefaultFlags<Result>(work: () => Result): Result {
  for (const [, byDefault] of bound) setFlag(byDefault)
  try {
    return work()
  } finally {
    for (const [flag] of bound) setFlag(flag)
  }
}

function setFlag(flag: string): void {
  process.getBuiltinModule('node:v8').setFlagsFromString(flag)
}
