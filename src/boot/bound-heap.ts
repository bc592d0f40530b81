import type { Host } from '../cli/host.ts'

/** Each flag, and V8's default. */
const flags = [
  ['--semi-space-growth-factor=1', '--semi-space-growth-factor=2'],
  ['--no-maglev', '--maglev'],
  ['--optimize-for-size', '--no-optimize-for-size'],
] as const

let isBound = false

/**
 * Sets V8 flags that bound heap growth while streaming: the space for new objects does not grow and, for
 * `memory`, the Maglev compiler is off and the heap is collected more often. By default, V8 accumulates up to
 * 100 MB of garbage before it collects. Over an empty run, an export of 100,000 messages takes 100 MB more by
 * default, 60 MB with the first flag, and 35 MB with all of them. The first one costs little time, the others 20
 * to 25% of an export or an import, and 40% of reading 20,000 users.
 */
export const keepHeapSmall: Host['keepHeapSmall'] = (most = 'memory') => {
  isBound = true
  for (const [flag] of most === 'memory' ? flags : flags.slice(0, 1)) setFlag(flag)
}

/** Restores V8's defaults: V8 rejects a code cache that was created under other flags. */
export function restoreHeapFlags(): void {
  if (isBound) for (const [, byDefault] of flags) setFlag(byDefault)
}

function setFlag(flag: string): void {
  process.getBuiltinModule('node:v8').setFlagsFromString(flag)
}
