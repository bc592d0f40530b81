import type { Host } from '../cli/host.ts'

/** Flags that are changed, and V8's defaults. */
const parserFlags = [
  ['--no-wasm-tier-up', '--wasm-tier-up'],
  ['--no-wasm-dynamic-tiering', '--wasm-dynamic-tiering'],
] as const

let expectsStream = false
let areChanged = false

export const expectStreamedReply: Host['expectStreamedReply'] = () => {
  expectsStream = true
}

/**
 * To be called before the first connection, when undici compiles its parser, which is WebAssembly. V8 would optimize it
 * after about 28 chunks of a streamed reply, which takes a third of the CPU time of a `chat send`. Does nothing unless
 * such a reply is expected: node:v8 takes more than a millisecond to load.
 */
export function configureParser(): void {
  areChanged ||= expectsStream
  if (areChanged) for (const [changed] of parserFlags) setFlag(changed)
}

/** Does something under V8's defaults: V8 rejects a code cache that was created under other flags. */
export function withDefaultFlags<Result>(work: () => Result): Result {
  if (!areChanged) return work()
  for (const [, byDefault] of parserFlags) setFlag(byDefault)
  try {
    return work()
  } finally {
    for (const [changed] of parserFlags) setFlag(changed)
  }
}

function setFlag(flag: string): void {
  process.getBuiltinModule('node:v8').setFlagsFromString(flag)
}
