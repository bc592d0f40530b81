import { execFileSync } from 'node:child_process'
import { globSync, mkdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { build } from 'esbuild'
import { leanDependencies, takeBuiltins } from './lean-dependencies.ts'

/**
 * Bundles src into dist: one file for what every run needs, the commands included, and a chunk for
 * each part that is loaded on demand; then lets oclif write its manifest from the commands. With
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
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: ['src/start.ts'],
    write: false,
    outdir: 'dist',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node22.19',
    external,
    plugins: [leanDependencies],
    chunkNames: 'chunks/[name]-[hash]',
    legalComments: 'none',
    minifySyntax: true,
    minifyWhitespace: true,
    banner: {
      // CommonJS dependencies still ask for node's own modules this way.
      js: 'const require=globalThis.process.getBuiltinModule("node:module").createRequire(import.meta.url);',
    },
    logLevel: 'warning',
  })
  mkdirSync(join(root, 'dist/chunks'), { recursive: true })
  for (const { path, text } of outputFiles) writeFileSync(path, takeBuiltins(text))
  await writeManifest()
  const sources = globSync(['src/**/*.ts', 'scripts/build.ts', 'package.json', 'package-lock.json'], {
    cwd: root,
  })
  writeFileSync(stamp, sources.sort().join('\n'))
  // A source saved while the build ran is newer than what was built from it.
  utimesSync(stamp, startedAt, startedAt)
}

/** oclif reads its manifest off the command classes, which it wants as one module (package.json, "oclif.commands"). */
async function writeManifest(): Promise<void> {
  const ids = globSync('**/*.ts', { cwd: join(root, 'src/commands') }).map((file) =>
    file.replace(/\.ts$/, ''),
  )
  const imports = ids.map((id, index) => `import c${index} from './commands/${id}.ts'`)
  const entries = ids.map((id, index) => `'${id.replaceAll('/', ':')}': c${index}`)
  await build({
    absWorkingDir: root,
    stdin: {
      contents: `${imports.join('\n')}\nexport const commands = { ${entries.join(', ')} }`,
      resolveDir: join(root, 'src'),
    },
    outfile: 'dist/commands.js',
    bundle: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
  })
  execFileSync(process.execPath, [join(root, 'node_modules/oclif/bin/run.js'), 'manifest'], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, NODE_ENV: 'production' },
  })
  rmSync(join(root, 'dist/commands.js'))
}

if (!process.argv.includes('--if-stale') || isStale()) await buildAll()
