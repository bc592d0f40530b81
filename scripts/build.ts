import { execFileSync } from 'node:child_process'
import { globSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { buildBundles } from './build-bundles.ts'
import { findBundledPackages } from './bundled-packages.ts'
import { buildCommandTable } from './command-table.ts'
import { composeLicenses } from './compose-licenses.ts'

/**
 * Builds src into dist, with the licenses of what is in it, and oclif's manifest of the commands.
 * With `--if-stale` it does so only when a source is newer than the last build.
 */

const root = resolve(import.meta.dirname, '..')
const stamp = join(root, 'dist', '.stamp')

function findSources(): string[] {
  return globSync(
    ['bin/run.js', 'src/**/*.ts', 'scripts/**/*.{ts,txt}', 'package.json', 'package-lock.json'],
    {
      cwd: root,
    },
  ).sort()
}

function isStale(sources: readonly string[]): boolean {
  const built = statSync(stamp, { throwIfNoEntry: false })
  if (!built) return true
  if (sources.some((source) => statSync(join(root, source)).mtimeMs > built.mtimeMs)) return true
  return readFileSync(stamp, 'utf8') !== sources.join('\n')
}

async function buildAll(sources: readonly string[]): Promise<void> {
  const startedAt = new Date()
  rmSync(join(root, 'dist'), { recursive: true, force: true })
  const packages = findBundledPackages(root, await buildBundles(root))
  writeFileSync(join(root, 'dist/licenses.txt'), composeLicenses(root, packages))
  writeFileSync(join(root, 'dist/.packages.json'), JSON.stringify(packages))
  await writeManifest()
  runScript('write-help.ts')
  runScript('write-code-cache.ts')
  writeFileSync(stamp, sources.join('\n'))
  // A source saved while the build ran is newer than what was built from it.
  utimesSync(stamp, startedAt, startedAt)
}

/** oclif reads its manifest from the command classes, which it wants as one module (package.json, "oclif.commands"). */
async function writeManifest(): Promise<void> {
  const table = join(root, 'dist/commands.js')
  await buildCommandTable(root, table)
  const { Plugin } = await import('@oclif/core')
  const plugin = new Plugin({
    errorOnManifestCreate: true,
    ignoreManifest: true,
    respectNoCacheDefault: true,
    root,
    type: 'core',
  })
  await plugin.load()
  rmSync(table)
  // Without spaces, which are a third of it.
  writeFileSync(join(root, 'oclif.manifest.json'), JSON.stringify(plugin.manifest))
}

/** In a separate process, which reads what is built so far. */
function runScript(name: string): void {
  execFileSync(process.execPath, [join(root, 'scripts', name)], { stdio: ['ignore', 'inherit', 'inherit'] })
}

// The modes of the files are packed too.
process.umask(0o022)
const sources = findSources()
if (!process.argv.includes('--if-stale') || isStale(sources)) await buildAll(sources)
