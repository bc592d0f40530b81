import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild'
import { compress } from '../src/boot/code-cache-format.ts'
import { lazyBundles } from './bundles.ts'
import { buildClientLibrary } from './client-library.ts'
import { findCommands, textFiles } from './command-table.ts'
import { leanDependencies } from './lean-dependencies.ts'

/** What bundled code reads beside its file at run time: the place below dist, compressed, and where it comes from. */
const carriedFiles: Record<string, string> = {
  'build/jq.wasm.zst': 'node_modules/jq-wasm/dist/build/jq.wasm',
}

/** The oldest Node that package.json promises. */
const target = 'node22.19'

/**
 * Builds everything but the manifest into dist.
 *
 * @returns the metadata that esbuild reports, by the name of the bundle
 */
export async function buildBundles(root: string): Promise<Record<string, Metafile>> {
  const dist = join(root, 'dist')
  mkdirSync(dist, { recursive: true })
  const hashes: Record<string, string> = {}
  const metafiles: Record<string, Metafile> = {}
  const write = async (name: string, options: BuildOptions): Promise<void> => {
    const { code, map, metafile } = await bundle(root, name, options)
    metafiles[name] = metafile
    const hash = createHash('sha256').update(code).digest('hex').slice(0, 16)
    hashes[name] = hash
    const isStart = name === 'start'
    writeFileSync(join(dist, `${name}.cjs`), isStart ? withHash(code, hash) : code, 'latin1')
    // That line has no source.
    const mappings = isStart ? `;${map.mappings}` : map.mappings
    writeFileSync(join(dist, `${name}.cjs.map`), JSON.stringify({ ...map, mappings }))
  }
  for (const [name, { files = [], package: own, exports, ...options }] of Object.entries(lazyBundles)) {
    const modules = files.map((file) => `./src/${file}`)
    if (own !== undefined && exports === undefined) modules.push(own)
    const contents = [...modules.map((path) => `export * from '${path}'`), exports ?? ''].join('\n')
    await write(name, { stdin: { contents, resolveDir: root }, ...options })
  }
  const commands = findCommands(root)
  const define = { commandIds: JSON.stringify(commands.map(({ id }) => id)) }
  for (const [name, ids] of [
    ['main', /./],
    ['chat', /^chat(:|$)/],
  ] as const) {
    const contents = programWith(commands.filter(({ id }) => ids.test(id)))
    await write(name, { stdin: { contents, resolveDir: join(root, 'src') }, define })
  }
  const others = new Set(commands.map(({ id }) => id.replace(/:.*/, '')).filter((name) => name !== 'chat'))
  await write('start', {
    entryPoints: ['src/boot/start.ts'],
    define: { bundleHashes: JSON.stringify(hashes), otherCommands: JSON.stringify([...others]) },
  })
  metafiles['client'] = await buildClientLibrary(root, { target })
  for (const [place, source] of Object.entries(carriedFiles)) {
    mkdirSync(dirname(join(dist, place)), { recursive: true })
    writeFileSync(join(dist, place), compress(readFileSync(join(root, source))))
  }
  return metafiles
}

/** bin/run.js reads start.cjs as UTF-8, and finds its code cache by this hash. */
function withHash(code: string, hash: string): string {
  if (/[^\0-\x7f]/.test(code)) throw new Error('start.cjs must be ASCII')
  return `//${hash}\n${code}`
}

/** The program with some of its commands. Each is evaluated on its first `require`. */
function programWith(commands: readonly { id: string; file: string }[]): string {
  const entries = commands.map(({ id, file }) => `'${id}': () => require('./commands/${file}')`)
  return `export { main } from './boot/main.ts'
          const commands = { ${entries.join()} }
          export const loadCommand = (id) => commands[id]().default
          export const loadContract = () => ({
            ...require('./contract/endpoints.ts'), ...require('./contract/faults.ts'),
          })`
}

async function bundle(
  root: string,
  name: string,
  options: BuildOptions,
): Promise<{ code: string; map: { mappings: string }; metafile: Metafile }> {
  const { outputFiles = [], metafile = { inputs: {}, outputs: {} } } = await build({
    absWorkingDir: root,
    bundle: true,
    write: false,
    outfile: `dist/${name}.cjs`,
    format: 'cjs',
    platform: 'node',
    target,
    // `import()` would need the loader of ES modules, which costs as much as all of oclif.
    // esbuild would create each regular expression with a class of characters again in every call.
    supported: { 'dynamic-import': false, 'regexp-unicode-property-escapes': true },
    external: [...findRunTimePackages(root), './build/jq.wasm.zst'],
    metafile: true,
    // For debuggers, and for scripts/trace.ts. The package does not contain the maps.
    sourcemap: 'linked',
    sourcesContent: false,
    loader: textFiles,
    // Its main file calls `require` under another name, which esbuild does not follow. `visit` is in this one.
    alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/impl/parser.js' },
    plugins: [askForBundles(name), leanDependencies, latin1],
    legalComments: 'none',
    minifySyntax: true,
    minifyWhitespace: true,
    // What Node's own loader would put around it, so that bin/run.js and src/boot/load-bundle.ts need not touch the text.
    banner: { js: '(function (exports, require, module, __filename, __dirname) {' },
    footer: { js: '})' },
    logLevel: 'warning',
    ...options,
  })
  const textOf = (extension: string) => outputFiles.find(({ path }) => path.endsWith(extension))?.text ?? ''
  // esbuild passes each module as the only method of an object, named after its file. V8 would create a
  // hidden class for each name, in a list that it sorts again for every entry. The columns of the source map stay.
  const named = /(?<=\b(?:__esm|__commonJS)\(\{)"[^"]+"(?=\()/g
  const code = textOf('.cjs').replace(named, (found) => 'load'.padEnd(found.length))
  if (unreadable.test(code)) throw new Error(`${name}.cjs contains characters that are not in Latin-1`)
  return { code, map: JSON.parse(textOf('.map')), metafile }
}

const unreadable = /[^\0-\xff]/

/**
 * A bundle is read as Latin-1, the only encoding that V8 takes without looking at every character. esbuild escapes
 * other characters, but not in regular expressions. In the source map, the columns after such a character are those of
 * its escaped text.
 */
const latin1: Plugin = {
  name: 'latin-1',
  setup(build) {
    build.onLoad({ filter: /\.[cm]?[jt]s$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8')
      if (!unreadable.test(text)) return undefined
      const escaped = text.replace(
        /(?<!\\)[^\0-\xff]/g,
        (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
      )
      return { contents: escaped, loader: path.endsWith('ts') ? 'ts' : 'js' }
    })
  },
}

/** An installation brings these, because they are native. Everything else is bundled. */
function findRunTimePackages(root: string): string[] {
  const { dependencies }: { dependencies: Record<string, string> } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  )
  return Object.keys(dependencies)
}

/** The bundle of each file below src, and of each package, that is loaded on demand. */
const bundleOf = new Map(
  Object.entries(lazyBundles).flatMap(([name, { files = [], package: own }]) =>
    [...files, ...(own === undefined ? [] : [own])].map((asked) => [asked, name] as const),
  ),
)

/** Marks modules of other bundles as external, for `import` and for `import()`. */
function askForBundles(asking: string): Plugin {
  return {
    name: 'ask-for-bundles',
    setup(build) {
      const source = join(build.initialOptions.absWorkingDir ?? '', 'src')
      if (asking === 'postgres')
        build.onResolve({ filter: /^kysely$/ }, () => ({ path: './service.cjs', external: true }))
      // The program has created the schemas when it loads the service (src/boot/load-bundle.ts).
      if (asking === 'service')
        build.onResolve({ filter: /\/contract\/(endpoints|faults)\.ts$/ }, () => ({
          path: './contract.cjs',
          external: true,
        }))
      build.onResolve({ filter: /./ }, ({ importer, path, resolveDir }) => {
        if (importer.includes('node_modules')) return undefined
        const asked = path.startsWith('.')
          ? relative(source, join(resolveDir, path)).replaceAll('\\', '/')
          : path
        const name = bundleOf.get(asked)
        return name === undefined || name === asking ? undefined : { path: `./${name}.cjs`, external: true }
      })
    },
  }
}
