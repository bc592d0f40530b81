import { writeFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import vm from 'node:vm'

/**
 * Preloaded by scripts/write-code-cache.ts, so that every build writes the same code caches. A cache contains the
 * path of its script, which V8 replaces when it reads the cache. It also contains which functions V8 has optimized,
 * and lacks those whose code V8 has discarded. Both depend on time, so V8 does neither here.
 *
 * It also writes the code of dist/start.cjs, for which the program writes no cache.
 */

const pinned = ['--no-sparkplug', '--no-maglev', '--no-turbofan', '--no-flush-bytecode']

function pinFlags(): void {
  for (const flag of pinned) setFlagsFromString(flag)
}

/** V8 accepts a code cache only under the flags under which it was created. */
function restoreFlags(): void {
  for (const flag of pinned) setFlagsFromString(flag.replace('no-', ''))
}

/** dist/start.cjs, which bin/run.js loads before any bundle. */
let startScript: { script: vm.Script; hash: string } | undefined

class Script extends vm.Script {
  constructor(code: string, options: vm.ScriptOptions) {
    restoreFlags()
    super(code, { ...options, filename: 'chatctl' })
    pinFlags()
    startScript ??= { script: this, hash: code.slice(2, 18) }
  }

  override createCachedData() {
    restoreFlags()
    const code = super.createCachedData()
    pinFlags()
    return code
  }
}

Object.assign(vm, { Script })
pinFlags()

process.once('exit', () => {
  if (!startScript) return
  const { hash, script } = startScript
  const code = script.createCachedData()
  const name = ['start', hash, process.versions.v8, process.platform, process.arch].join('-')
  writeFileSync(`${import.meta.dirname}/${name}`, Buffer.concat([code, code]))
})

// A cache also contains which functions have run. In an emulator, a run may last until the timer of undici, which
// is due after half a second.
const { setTimeout: start } = globalThis
Object.assign(globalThis, {
  setTimeout: (callback: () => void, delay = 0, ...values: []) =>
    start(callback, delay < 400 ? delay : delay + 60_000, ...values),
})
