import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Plugin } from 'esbuild'

/**
 * An esbuild plugin that removes code chatctl never runs from its dependencies, for a faster startup.
 * docs/decisions/0003-bundling.md has the measurements.
 */

const oclif = /node_modules[\\/]@oclif[\\/]core[\\/]lib[\\/].*\.js$/
const undici = /node_modules[\\/]undici[\\/]lib[\\/].*\.js$/

/** Can be called, and be the base of a class. */
const nothing = `module.exports = new Proxy(function () { return module.exports }, {
  get: (_, name) => name === '__esModule' ? false : module.exports,
})`

/** undici's parser uses only these tables of llhttp. Building the others slows down the startup. */
const { ERROR, TYPE } = createRequire(import.meta.url)('undici/lib/llhttp/constants.js')

interface Replacement {
  /** The imported path. */
  path: RegExp
  /** The files whose imports are replaced (default: all). */
  importer?: RegExp
  /** The source that replaces it (default: `nothing`). */
  contents?: string
}

const replacements: readonly Replacement[] = [
  // oclif searches directories for commands, compares versions, draws spinners, and lays out help. chatctl gives it a
  // static plugin, has its own help, and needs none of these.
  {
    path: /^(cli-spinners|debug|ejs|lilconfig|minimatch|semver|tinyglobby|typescript|wrap-ansi|wsl-utils)$/,
    importer: oclif,
  },
  // oclif's own files for these functions. With them and the two parts below, dist would be 0.6 MB larger.
  {
    path: /\/(plugin|ts-path|module-loader|find-root|cache-command|docopts|formatter|action\/(base|simple|spinner)|colorize-json)$|^\.\/(command|root)$/,
    importer: oclif,
  },
  // undici's support for form bodies; chatctl sends only text and bytes.
  {
    path: /^\.\.\/web\/(fetch|webidl)(\/|$)/,
    importer: /node_modules[\\/]undici[\\/]lib[\\/](core|dispatcher)[\\/]/,
  },
  // HTTP/2, and an HTTP/1.1 parser that only an environment variable enables.
  { path: /\/(client-h2|milo\/(no-)?simd)\.js$/, importer: undici },
  // Bindings to libpq, and the sockets of another runtime.
  { path: /^(pg-native|pg-cloudflare)$/ },
  // zod validates requests, and the configuration has no JSON Schema. The validators would add 0.4 MB to dist.
  {
    path: /^(@fastify\/(ajv-compiler|fast-json-stringify-compiler)|ajv\/dist\/2020\.js|ajv-formats)$/,
    importer: /node_modules[\\/](conf|fastify)[\\/]/,
  },
  // Exemplars, which chatctl does not enable.
  { path: /^@opentelemetry\/api$/ },
  // undici uses one class and one number of node:http.
  {
    path: /^node:http$/,
    importer: undici,
    contents: `module.exports = { IncomingMessage: class {}, maxHeaderSize: 16384 }`,
  },
  // undici uses one function of node:assert, which would load five other modules.
  {
    path: /^node:assert$/,
    importer: undici,
    contents: `module.exports = (holds, message = 'undici: an assertion failed') => {
  if (!holds) throw Object.assign(new Error(message), { code: 'ERR_ASSERTION' })
}`,
  },
  {
    path: /\/llhttp\/constants\.js$/,
    importer: undici,
    contents: `module.exports = ${JSON.stringify({ ERROR, TYPE })}`,
  },
  // undici's tree of known header names saves few bytes per response but is built at every startup.
  {
    path: /^\.\/tree$/,
    importer: undici,
    contents: 'module.exports = { tree: { lookup: () => null } }',
  },
  // conf's file writer cleans up on exit. Its signal handlers send each signal to the process again, which chatctl
  // would take for a second Ctrl-C and exit immediately. An exit handler is enough.
  { path: /^when-exit$/, contents: 'export default (callback) => process.once("exit", callback)' },
]

/** oclif reads its version from this file. */
const manifestOfOclif = /node_modules[\\/]@oclif[\\/]core[\\/]package\.json$/

/** 2,500 media types, twice. oidc-provider and koa look up these. */
const mediaTypes = /node_modules[\\/]mime-db[\\/]db\.json$/
const usedMediaTypes = /^(text\/(html|plain)|application\/(json|octet-stream|x-www-form-urlencoded))$/

/** undici's parser for processors with SIMD instructions, which is not measurably faster than the other one. */
const simdParser = /\/llhttp_simd-wasm\.js$/

/** Matches `const name = require("…")`, also with TypeScript's helpers for default imports. */
const requires = /^(?:const|var) (\w+) = ((?:__import(?:Default|Star)\()?require\("[^"]+"\)\)?);$/gm
const lazy = `const __lazy = (load) => {
  let loaded
  return new Proxy({}, { get: (_, name) => (loaded ??= load())[name] })
};
`

export const leanDependencies: Plugin = {
  name: 'lean-dependencies',
  setup(build) {
    for (const { path: filter, importer: from, contents = nothing } of replacements)
      build.onResolve({ filter }, ({ path, importer }) =>
        !from || from.test(importer) ? { path, namespace: 'replaced', pluginData: contents } : undefined,
      )
    build.onLoad({ filter: /./, namespace: 'replaced' }, ({ pluginData }) => ({ contents: pluginData }))
    build.onResolve({ filter: simdParser }, ({ path, resolveDir }) => ({
      path: join(resolveDir, path.replace('_simd', '')),
    }))
    build.onLoad({ filter: manifestOfOclif }, ({ path }) => {
      const { name, version } = JSON.parse(readFileSync(path, 'utf8'))
      return { contents: JSON.stringify({ name, version }), loader: 'json' }
    })
    build.onLoad({ filter: mediaTypes }, ({ path }) => {
      const types: Record<string, unknown> = JSON.parse(readFileSync(path, 'utf8'))
      const used = Object.entries(types).filter(([type]) => usedMediaTypes.test(type))
      return { contents: JSON.stringify(Object.fromEntries(used)), loader: 'json' }
    })

    // Most runs need few of oclif's files, so each file is loaded on first use.
    build.onLoad({ filter: oclif }, ({ path }) => ({
      contents: readFileSync(path, 'utf8')
        .replace('"use strict";', `"use strict";\n${lazy}`)
        .replace(requires, 'const $1 = __lazy(() => $2);')
        // chatctl has its own directories.
        .replace(/this\.(cacheDir|configDir|dataDir) = this\.scopedEnvVar.*;/g, 'this.$1 = "";')
        // In a container, these calls fail if the user ID has no passwd entry. chatctl uses neither value.
        .replace('(0, node_os_1.homedir)()', '""')
        .replace('(0, node_os_1.userInfo)().shell', 'undefined')
        // This listener would throw outside of chatctl's error handling (src/cli/output/streams.ts).
        .replace("process.stdout.on('error', ", '(() => {})('),
    }))
  },
}
