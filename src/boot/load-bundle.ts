import { readdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Script } from 'node:vm'
import { Directories } from '../system/directories.ts'
import { isOursAlone, makePrivateDirectory } from '../system/private-directory.ts'
import { removeQuietly, replaceFile } from '../system/replace-file.ts'
import { withDefaultFlags } from './bound-heap.ts'
import { loadNativeAddon } from './native-addon.ts'
import { hasOwnFile, ownRoot, readOwnFile, readWhole } from './own-files.ts'

/**
 * Loads the files of dist like Node's CommonJS loader, and caches V8's compiled code between runs. Node's
 * own compile cache contains only the code that was compiled when the file was loaded. This cache is taken
 * after a run, so it also contains the functions that the run called, which saves the most time
 * (docs/decisions/0003-bundling.md).
 *
 * The package contains a cache with the functions of common commands (scripts/write-code-cache.ts). It is
 * used until this machine has written one.
 */

/** Content hash of every bundle by name, set by the build. */
declare const bundleHashes: Record<string, string>

interface Compiled {
  script: Script
  /** Prefix of this bundle's files in the cache directory. */
  key: string
  /** Where the cached code is that V8 accepted. */
  source?: CacheStore | undefined
  /** Whether the file with the cached code of this machine is damaged. */
  isDamaged: boolean
}

interface Loaded extends Compiled {
  exports: unknown
}

const loaded = new Map<string, Loaded>()

/** Where cached code is stored, by name. */
interface CacheStore {
  read(name: string): Buffer
  has(name: string): boolean
}

/** The caches in the package. */
const packaged: CacheStore = {
  read: (name) => readOwnFile(`dist/code-cache/${name}`),
  has: (name) => hasOwnFile(`dist/code-cache/${name}`),
}

export function loadBundle(name: string): unknown {
  const known = loaded.get(name)
  if (known) return known.exports
  const path = join(ownRoot, 'dist', `${name}.cjs`)
  const compiled = withDefaultFlags(() => compile(name, path))
  const module = { exports: {} }
  loaded.set(name, { ...compiled, exports: module.exports })
  compiled.script.runInThisContext()(module.exports, requireFromBundle, module, path, dirname(path))
  loaded.set(name, { ...compiled, exports: module.exports })
  return module.exports
}

function keyOf(name: string): string {
  return `${name}-${bundleHashes[name]}-${process.versions.v8}-${process.platform}-${process.arch}`
}

function compile(name: string, path: string): Compiled {
  const key = keyOf(name)
  const text = readOwnFile(`dist/${name}.cjs`).toString('latin1')
  const filename = pathToFileURL(path).href
  const compileWith = (code: Buffer | undefined) =>
    new Script(text, { filename, ...(code === undefined ? {} : { cachedData: code }) })
  const directory = trustedDirectory()
  const machine = directory === undefined ? undefined : storeIn(directory)
  let own = readCodeCache(machine, key)
  let ownKey = key
  if (own.code !== undefined) {
    const script = compileWith(own.code)
    if (script.cachedDataRejected !== true) return { script, key, source: machine, isDamaged: false }
    // V8 flags, for example in NODE_OPTIONS, need their own cache.
    ownKey = `${key}-${process.getBuiltinModule('node:v8').cachedDataVersionTag()}`
    own = readCodeCache(machine, ownKey)
    if (own.code !== undefined) {
      const script = compileWith(own.code)
      return { script, key: ownKey, source: machine, isDamaged: script.cachedDataRejected === true }
    }
  }
  const script = compileWith(readCodeCache(packaged, key).code)
  const source = script.cachedDataRejected === false ? packaged : undefined
  return { script, key: ownKey, source, isDamaged: own.isDamaged }
}

function requireFromBundle(id: string): unknown {
  if (id.endsWith('.cjs')) return loadBundle(id.slice(2, -'.cjs'.length))
  // A copy, because the memory of the content is used again.
  if (id.startsWith('./')) return Buffer.from(readOwnFile(`dist/${id.slice(2)}`))
  // Faster than `require`, which checks hooks and caches first.
  return process.getBuiltinModule(id) ?? loadNativeAddon(id)
}

/**
 * Caches the compiled code of this run unless an earlier run of the same command has. The first run on a
 * machine only writes a marker file: a CI machine that is discarded after one run would pay for a cache
 * that is never read. This function must not fail: without a cache, a start is only slower.
 *
 * @param command id of the command that ran
 */
export function keepCodeCaches(command: string): void {
  const directory = trustedDirectory()
  if (directory === undefined) return
  for (const [name, { script, key, source, isDamaged }] of loaded) {
    try {
      const mark = `${key}.${command.replaceAll(':', '-')}`
      const marker = join(directory, mark)
      if (!isDamaged && (source ?? storeIn(directory)).has(mark)) continue
      const note = join(directory, `${key}.once`)
      if (!exists(note)) {
        writeFileSync(note, '', { mode: 0o600 })
        continue
      }
      forgetOtherVersions(directory, name)
      const code = withDefaultFlags(() => script.createCachedData())
      // Twice: V8 checks only the first bytes, and crashes if others are wrong. Comparing two copies takes
      // less time than a checksum.
      replaceFile(join(directory, key), Buffer.concat([code, code]), { flush: false })
      writeFileSync(marker, '', { mode: 0o600 })
    } catch {
      // A full disk, or another run doing the same.
    }
  }
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined
}

function storeIn(directory: string): CacheStore {
  return {
    read: (name) => readWhole(join(directory, name)),
    has: (name) => exists(join(directory, name)),
  }
}

/** Two versions in use at the same time keep each other's cache files for this time, in ms. */
const oneDay = 24 * 60 * 60 * 1000

function forgetOtherVersions(directory: string, name: string): void {
  for (const file of readdirSync(directory)) {
    // A killed run leaves a temporary file, whose name begins with a dot.
    const bare = file.replace(/^\./, '')
    const isBundle = bare.startsWith(`${name}-`) && /^[0-9a-f]{16}-/.test(bare.slice(name.length + 1))
    if (!isBundle || file.startsWith(keyOf(name))) continue
    const path = join(directory, file)
    if (statSync(path).mtimeMs < Date.now() - oneDay) removeQuietly(path)
  }
}

interface CodeCache {
  code?: Buffer
  isDamaged: boolean
}

function readCodeCache(store: CacheStore | undefined, key: string): CodeCache {
  // Coverage counts only code that V8 compiles in this run.
  if (store === undefined || process.env['NODE_V8_COVERAGE']) return { isDamaged: false }
  let bytes: Buffer
  try {
    bytes = store.read(key)
  } catch {
    return { isDamaged: false }
  }
  const half = bytes.length / 2
  const code = bytes.subarray(0, half)
  return half > 0 && code.equals(bytes.subarray(half)) ? { code, isDamaged: false } : { isDamaged: true }
}

let directoryOfThisRun: { path: string | undefined } | undefined

/** V8 executes the files in this directory, so only this user may have write access. */
function trustedDirectory(): string | undefined {
  directoryOfThisRun ??= { path: findTrustedDirectory() }
  return directoryOfThisRun.path
}

function findTrustedDirectory(): string | undefined {
  try {
    const directory = new Directories(process.env).cache
    makePrivateDirectory(directory)
    return isOursAlone(directory) ? directory : undefined
  } catch {
    return undefined
  }
}
