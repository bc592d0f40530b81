import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Script } from 'node:vm'
import { cacheFolder } from './config/paths.ts'
import { isOursAlone } from './config/trusted-folder.ts'

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
  /** What this bundle's files in the cache folder begin with. */
  key: string
}

const loaded = new Map<string, Loaded>()
const fromHere = createRequire(__filename)

export function loadBundle(name: string): unknown {
  const known = loaded.get(name)
  if (known) return known.exports
  const path = join(__dirname, `${name}.cjs`)
  const key = `${name}-${bundleHashes[name]}-${process.versions.v8}-${process.arch}`
  const cachedData = readCodeCache(key)
  const script = new Script(readFileSync(path, 'latin1'), {
    filename: pathToFileURL(path).href,
    ...(cachedData === undefined ? {} : { cachedData }),
  })
  const module = { exports: {} }
  loaded.set(name, { script, exports: module.exports, key })
  script.runInThisContext()(module.exports, requireFromBundle, module, path, __dirname)
  loaded.set(name, { script, exports: module.exports, key })
  return module.exports
}

function requireFromBundle(id: string): unknown {
  if (id.startsWith('./')) return loadBundle(id.slice(2, -'.cjs'.length))
  // Faster than `require`, which looks at hooks and caches first.
  return process.getBuiltinModule(id) ?? fromHere(id)
}

/**
 * Keeps the compiled code of this run where no earlier run of the same command has. Nothing here
 * may fail: without a cache folder every start is only slower.
 *
 * @param command id of the command that ran
 */
export function keepCodeCaches(command: string): void {
  const folder = trustedFolder()
  if (folder === undefined) return
  for (const [name, { script, key }] of loaded) {
    try {
      const marker = join(folder, `${key}.${command.replaceAll(':', '-')}`)
      if (statSync(marker, { throwIfNoEntry: false })) continue
      forgetOtherVersions(folder, name, key)
      const aside = join(folder, `${key}.${process.pid}.tmp`)
      writeFileSync(aside, script.createCachedData(), { mode: 0o600 })
      renameSync(aside, join(folder, key))
      writeFileSync(marker, '', { mode: 0o600 })
    } catch {
      // A full disk, or another run doing the same.
    }
  }
}

function forgetOtherVersions(folder: string, name: string, key: string): void {
  for (const file of readdirSync(folder)) {
    const isBundle = file.startsWith(`${name}-`) && /^[0-9a-f]{16}-/.test(file.slice(name.length + 1))
    if (isBundle && !file.startsWith(key)) rmSync(join(folder, file), { force: true })
  }
}

function readCodeCache(key: string): Buffer | undefined {
  // Coverage counts what V8 compiles in this run.
  if (process.env['NODE_V8_COVERAGE']) return undefined
  const folder = trustedFolder()
  try {
    return folder === undefined ? undefined : readFileSync(join(folder, key))
  } catch {
    return undefined
  }
}

let folderOfThisRun: { path: string | undefined } | undefined

/** V8 runs what it finds here, so it must be ours alone. */
function trustedFolder(): string | undefined {
  folderOfThisRun ??= { path: findTrustedFolder() }
  return folderOfThisRun.path
}

function findTrustedFolder(): string | undefined {
  try {
    const folder = cacheFolder()
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    return isOursAlone(folder) ? folder : undefined
  } catch {
    return undefined
  }
}
