import { execFileSync } from 'node:child_process'
import { globSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { build } from 'esbuild'

/**
 * Bundles src into dist: one entry for start-up and one for every command, with what they share
 * split into chunks, then lets oclif write its manifest from the built commands. With
 * `--if-stale` it does so only when a source is newer than the last build.
 */

const root = resolve(import.meta.dirname, '..')
const stamp = join(root, 'dist', '.stamp')

/** Native or WebAssembly packages read files beside them, so they cannot move into a bundle. */
const external = ['@node-rs/argon2', 'jq-wasm']

function isStale(): boolean {
  const built = statSync(stamp, { throwIfNoEntry: false })
  if (!built) return true
  const sources = globSync(['src/**/*.ts', 'scripts/build.ts', 'package.json', 'package-lock.json'], {
    cwd: root,
  })
  if (sources.some((source) => statSync(join(root, source)).mtimeMs > built.mtimeMs)) return true
  return readFileSync(stamp, 'utf8') !== sources.sort().join('\n')
}

async function buildAll(): Promise<void> {
  const startedAt = new Date()
  rmSync(join(root, 'dist'), { recursive: true, force: true })
  await build({
    absWorkingDir: root,
    entryPoints: ['src/start.ts', ...globSync('src/commands/**/*.ts', { cwd: root })],
    outbase: 'src',
    outdir: 'dist',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node22.19',
    external,
    chunkNames: 'chunks/[name]-[hash]',
    legalComments: 'none',
    sourcemap: process.env['CHATCTL_BUILD_SOURCEMAPS'] === '1',
    minifySyntax: true,
    minifyWhitespace: true,
    banner: {
      // CommonJS dependencies inside an ES module bundle still ask for node's own modules this way.
      js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);",
    },
    logLevel: 'warning',
  })
  execFileSync(process.execPath, [join(root, 'node_modules/oclif/bin/run.js'), 'manifest'], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, NODE_ENV: 'production' },
  })
  const sources = globSync(['src/**/*.ts', 'scripts/build.ts', 'package.json', 'package-lock.json'], {
    cwd: root,
  })
  writeFileSync(stamp, sources.sort().join('\n'))
  // A source saved while the build ran is newer than what was built from it.
  utimesSync(stamp, startedAt, startedAt)
}

if (!process.argv.includes('--if-stale') || isStale()) await buildAll()
