import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { Script } from 'node:vm'
import { Directories } from '../system/files/directories.ts'
import { isOursAlone, makePrivateDirectory } from '../system/files/private-directory.ts'
import { replaceFile } from '../system/files/replace-file.ts'
import { decompress, duplicate, readDuplicate } from './code-cache-format.ts'
import { loadNativeAddon } from './native-addon.ts'
import { forgetFiles, ownRoot, readOwnFile } from './own-files.ts'
import { configureParser, withDefaultFlags } from './v8-flags.ts'

/**
 * Loads the bundles in dist like Node's CommonJS loader, and caches V8's compiled code between runs. Node's
 * own compile cache contains only the code that was compiled when the file was loaded. This cache is taken
 * after a run, so it also contains the functions that the run called, which saves the most time
 * (docs/decisions/0003-bundling.md).
 *
 * The package contains a cache with the functions of common commands (scripts/write-code-cache.ts). It is
 * used until this machine has written one, in the second run.
 */

/** Content hash of every bundle by name, set by the build. */
declare const bundleHashes: Record<string, string>

interface Compiled {
  script: Script
  /** Prefix of this bundle's files in the cache directory. */
  key: string
  /** Whether the file with the cached code of this machine is damaged. */
  isDamaged: boolean
}

interface Loaded extends Compiled {
  exports: unknown
}

const loaded = new Map<string, Loaded>()

export function loadBundle(name: string): unknown {
  const known = loaded.get(name)
  if (known) return known.exports
  // Joined as text, here and below, because `join` looks at every character several times.
  const directory = `${ownRoot}/dist`
  const path = `${directory}/${name}.cjs`
  const compiled = withDefaultFlags(() => compile(name, path))
  const module = { exports: {} }
  loaded.set(name, { ...compiled, exports: module.exports })
  compiled.script.runInThisContext()(module.exports, requireFromBundle, module, path, directory)
  loaded.set(name, { ...compiled, exports: module.exports })
  if (name === 'http') configureParser()
  return module.exports
}

function keyOf(name: string): string {
  return `${name}-${bundleHashes[name]}-${process.versions.v8}-${process.platform}-${process.arch}`
}

/**
 * V8 rejects a cache that was created under other flags, for example those of NODE_OPTIONS, so such runs have their
 * own. A second attempt with another cache would do nothing: V8 finds the code that it compiled in the first.
 */
function suffixOfFlags(): string {
  if (process.execArgv.length === 0 && !process.env['NODE_OPTIONS']) return ''
  return `-${process.getBuiltinModule('node:v8').cachedDataVersionTag()}`
}

function compile(name: string, path: string): Compiled {
  const key = `${keyOf(name)}${suffixOfFlags()}`
  const text = readOwnFile(`dist/${name}.cjs`).toString('latin1')
  const own = readCodeCache(trustedDirectory(), key)
  const cachedData = own.code ?? readPackagedCache(keyOf(name))
  const script = new Script(text, { filename: path, ...(cachedData === undefined ? {} : { cachedData }) })
  const isRejected = own.code !== undefined && script.cachedDataRejected === true
  return { script, key, isDamaged: own.isDamaged || isRejected }
}

function requireFromBundle(id: string): unknown {
  if (id === './contract.cjs') return loadContract()
  if (id.endsWith('.cjs')) return loadBundle(id.slice(2, -'.cjs'.length))
  if (id.startsWith('./')) return readOwnFile(`dist/${id.slice(2)}`)
  // Faster than `require`, which checks hooks and caches first.
  return process.getBuiltinModule(id) ?? loadNativeAddon(id)
}

/** The schemas of the program, which is the first bundle. The service would take longer to create its own. */
function loadContract(): unknown {
  const [program] = [...loaded.values()] as [Loaded & { exports: { loadContract(): unknown } }]
  return program.exports.loadContract()
}

/**
 * Caches the compiled code of this run unless an earlier run of the same command has. The first run on a
 * machine only writes a marker file: a CI machine that is discarded after one run would pay for a cache
 * that is never read. This function must not fail: without a cache, a start is only slower.
 * @param command id of the command that ran
 */
export function keepCodeCaches(command: string): void {
  const directory = trustedDirectory()
  if (directory === undefined) return
  for (const [name, { script, key, isDamaged }] of loaded) {
    try {
      const marker = `${directory}/${key}.${command.replaceAll(':', '-')}`
      if (!isDamaged && exists(marker)) continue
      const note = `${directory}/${key}.once`
      if (!exists(note)) {
        writeFileSync(note, '', { mode: 0o600 })
        continue
      }
      forgetFiles(directory, (file) => {
        // A killed run leaves a temporary file, whose name begins with a dot.
        const bare = file.replace(/^\./, '')
        const isBundle = bare.startsWith(`${name}-`) && /^[0-9a-f]{16}-/.test(bare.slice(name.length + 1))
        return isBundle && !file.startsWith(keyOf(name))
      })
      const code = withDefaultFlags(() => script.createCachedData())
      replaceFile(`${directory}/${key}`, duplicate(code), { flush: false })
      writeFileSync(marker, '', { mode: 0o600 })
    } catch {
      // A full disk, or another run doing the same.
    }
  }
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined
}

/** Coverage counts only code that V8 compiles in this run, and V8 adds counters to that code. */
const isUnused = (): boolean => Boolean(process.env['NODE_V8_COVERAGE'])

function readCodeCache(directory: string | undefined, key: string): { code?: Buffer; isDamaged: boolean } {
  if (directory === undefined) return { isDamaged: false }
  try {
    const code = readDuplicate(readFileSync(`${directory}/${key}`))
    return code === undefined ? { isDamaged: true } : { code, isDamaged: false }
  } catch {
    return { isDamaged: false }
  }
}

function readPackagedCache(key: string): Buffer | undefined {
  if (isUnused()) return undefined
  try {
    return decompress(readOwnFile(`dist/code-cache/${key}.zst`))
  } catch {
    // Not for this version of Node, or damaged.
    return undefined
  }
}

let directoryOfThisRun: { path: string | undefined } | undefined

/** V8 executes the files in this directory, so only this user may have write access. */
function trustedDirectory(): string | undefined {
  directoryOfThisRun ??= { path: findTrustedDirectory() }
  return directoryOfThisRun.path
}

function findTrustedDirectory(): string | undefined {
  if (isUnused()) return undefined
  try {
    const directory = new Directories(process.env).cache
    makePrivateDirectory(directory)
    return isOursAlone(directory) ? directory : undefined
  } catch {
    return undefined
  }
}
