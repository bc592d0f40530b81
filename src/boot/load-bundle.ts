import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Script } from 'node:vm'
import { Directories } from '../system/directories.ts'
import { isOursAlone, makePrivateDirectory } from '../system/private-directory.ts'
import { replaceFile } from '../system/replace-file.ts'

/**
 * Loads the files of dist as Node's own loader of CommonJS would, with V8's compiled code kept
 * between runs. Node's compile cache keeps what was compiled when a file was loaded; this one is
 * taken after a run, and so holds the functions that the run needed, which is most of the gain
 * (docs/decisions/0003-bundling.md).
 */

/** Content hash of every bundle by name, put in by the build. */
declare const bundleHashes: Record<string, string>

interface Loaded {
  script: Script
  exports: unknown
  /** What this bundle's files in the cache directory begin with. */
  key: string
  /** Whether some of what was kept is lost. */
  isDamaged: boolean
}

const loaded = new Map<string, Loaded>()
const fromHere = createRequire(__filename)

export function loadBundle(name: string): unknown {
  const known = loaded.get(name)
  if (known) return known.exports
  const path = join(__dirname, `${name}.cjs`)
  const key = `${name}-${bundleHashes[name]}-${process.versions.v8}-${process.arch}`
  const { code: cachedData, isDamaged } = readCodeCache(key)
  const script = new Script(readFileSync(path, 'latin1'), {
    filename: pathToFileURL(path).href,
    ...(cachedData === undefined ? {} : { cachedData }),
  })
  const module = { exports: {} }
  loaded.set(name, { script, exports: module.exports, key, isDamaged })
  script.runInThisContext()(module.exports, requireFromBundle, module, path, __dirname)
  loaded.set(name, { script, exports: module.exports, key, isDamaged })
  return module.exports
}

function requireFromBundle(id: string): unknown {
  if (id.startsWith('./')) return loadBundle(id.slice(2, -'.cjs'.length))
  // Faster than `require`, which looks at hooks and caches first.
  return process.getBuiltinModule(id) ?? fromHere(id)
}

/**
 * Keeps the compiled code of this run where no earlier run of the same command has. The first run
 * only leaves a note that it was there: a machine that is thrown away after one run, as in CI, would
 * pay for a cache that nobody reads. Nothing here may fail: without a cache directory every start is
 * only slower.
 *
 * @param command id of the command that ran
 */
export function keepCodeCaches(command: string): void {
  const folder = trustedFolder()
  if (folder === undefined) return
  for (const [name, { script, key, isDamaged }] of loaded) {
    try {
      const marker = join(folder, `${key}.${command.replaceAll(':', '-')}`)
      if (exists(marker) && !isDamaged) continue
      const note = join(folder, `${key}.once`)
      if (!exists(note)) {
        writeFileSync(note, '', { mode: 0o600 })
        continue
      }
      forgetOtherVersions(folder, name, key)
      const code = script.createCachedData()
      replaceFile(join(folder, key), Buffer.concat([code, sampleOf(code)]), { flush: false })
      writeFileSync(marker, '', { mode: 0o600 })
    } catch {
      // A full disk, or another run doing the same.
    }
  }
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined
}

/** Of two versions in use side by side, each leaves the other its own for this time, in ms. */
const oneDay = 24 * 60 * 60 * 1000

function forgetOtherVersions(folder: string, name: string, key: string): void {
  for (const file of readdirSync(folder)) {
    // A run that was killed leaves a temporary file, which begins with a dot.
    const bare = file.replace(/^\./, '')
    const isBundle = bare.startsWith(`${name}-`) && /^[0-9a-f]{16}-/.test(bare.slice(name.length + 1))
    if (!isBundle || file.startsWith(key)) continue
    const path = join(folder, file)
    if (statSync(path).mtimeMs < Date.now() - oneDay) removeQuietly(path)
  }
}

function removeQuietly(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch {}
}

function readCodeCache(key: string): { code?: Buffer; isDamaged: boolean } {
  // Coverage counts what V8 compiles in this run.
  const folder = process.env['NODE_V8_COVERAGE'] ? undefined : trustedFolder()
  if (folder === undefined) return { isDamaged: false }
  let bytes: Buffer
  try {
    bytes = readFileSync(join(folder, key))
  } catch {
    return { isDamaged: false }
  }
  const code = bytes.subarray(0, -sampleLength)
  const isWhole = sampleOf(code).equals(bytes.subarray(code.length))
  return isWhole ? { code, isDamaged: false } : { isDamaged: true }
}

const sampleLength = 4

/** One word of 32 bits of so many is looked at: 1 kB, so that of a lost page of 4 kB four are missed. */
const sampleStep = 256

/**
 * What stands behind the code, to tell that a machine that stopped did not lose some of it: V8 looks
 * at its first bytes only, and crashes. To look at all of it would take longer than the start gains.
 */
function sampleOf(code: Buffer): Buffer {
  const words = new Int32Array(code.buffer, code.byteOffset, code.length >> 2)
  let sum = code.length
  for (let at = 0; at < words.length; at += sampleStep) sum = Math.imul(sum, 31) + (words[at] ?? 0)
  const sample = Buffer.alloc(sampleLength)
  sample.writeInt32LE(sum | 0)
  return sample
}

let folderOfThisRun: { path: string | undefined } | undefined

/** V8 runs what it finds here, so it must be ours alone. */
function trustedFolder(): string | undefined {
  folderOfThisRun ??= { path: findTrustedFolder() }
  return folderOfThisRun.path
}

function findTrustedFolder(): string | undefined {
  try {
    const folder = new Directories(process.env).cache
    makePrivateDirectory(folder)
    return isOursAlone(folder) ? folder : undefined
  } catch {
    return undefined
  }
}
