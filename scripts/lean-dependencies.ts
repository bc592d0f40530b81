import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Plugin } from 'esbuild'

/**
 * What the bundle does to its dependencies so that a start loads little. What each part gains is
 * measured in docs/decisions/0003-bundling.md.
 */

const oclif = /node_modules[\\/]@oclif[\\/]core[\\/]lib[\\/].*\.js$/
const undici = /node_modules[\\/]undici[\\/]lib[\\/].*\.js$/

/**
 * oclif searches folders for commands, compares versions and spins; we hand it a plugin made from
 * the manifest and do none of that.
 */
const unusedByOclif = new RegExp(
  `^(${['cli-spinners', 'debug', 'lilconfig', 'minimatch', 'semver', 'tinyglobby', 'typescript', 'wsl-utils'].join('|')})$`,
)
/** Files of its own that only do such things. */
const unusedOfOclif = /\/(plugin|ts-path|module-loader|find-root|cache-command)$/
const nothing = `module.exports = new Proxy(() => module.exports, {
  get: (_, name) => name === '__esModule' ? false : module.exports,
})`

/** HTTP/2, and a second parser of HTTP/1.1 that only an environment variable turns on. */
const unusedByUndici = /\/(client-h2|milo\/(no-)?simd)\.js$/

/** The contract validates what comes in; nothing is compiled from JSON Schema. */
const unusedByFastify = /^@fastify\/(ajv-compiler|fast-json-stringify-compiler)$/

/** Node's HTTP/2, which is not offered, and its TLS, which is loaded where it is. */
const fastifyServer = /node_modules[\\/]fastify[\\/]lib[\\/]server\.js$/

/** conf is given no schema. */
const unusedByConf = /^(ajv\/dist\/2020\.js|ajv-formats)$/

/** Bindings to libpq, another runtime's sockets, and a reader of ~/.pgpass that warns: ours reads it. */
const unusedByPg = /^(pg-native|pg-cloudflare|pgpass)$/

/** Of node:http, undici wants one class to compare with and one number. */
const http = `module.exports = { IncomingMessage: class {}, maxHeaderSize: 16384 }`

/**
 * What writes files for conf wants to clean up when the process ends, and for that it repeats each
 * signal to itself: our second one, which ends the program at once. Signals are ours; an exit will do.
 */
const whenExit = 'export default (callback) => process.once("exit", callback)'

/** What undici would need to send a form; we send texts and bytes. */
const unusedForms = /^\.\.\/web\/(fetch|webidl)(\/|$)/
const undiciHttp = /node_modules[\\/]undici[\\/]lib[\\/](core|dispatcher)[\\/]/

/** Of the numbers of llhttp, whose tables of methods and characters take a while to make, undici's parser uses these. */
const { ERROR, TYPE } = createRequire(import.meta.url)('undici/lib/llhttp/constants.js')
const llhttp = `module.exports = ${JSON.stringify({ ERROR, TYPE })}`

/** Of node:assert, undici wants a function that throws; the module brings five others. */
const assert = `module.exports = (holds, message = 'undici: an assertion failed') => {
  if (!holds) throw Object.assign(new Error(message), { code: 'ERR_ASSERTION' })
}`

/** A tree of known header names, built in every start to save a small string for each header of an answer. */
const tree = 'module.exports = { tree: { lookup: () => null } }'

/** `const name = require("…")`, bare or through TypeScript's helpers for default imports. */
const requires = /^(?:const|var) (\w+) = ((?:__import(?:Default|Star)\()?require\("[^"]+"\)\)?);$/gm
const lazy = `const __lazy = (load) => {
  let loaded
  return new Proxy({}, { get: (_, name) => (loaded ??= load())[name] })
};
`

export const leanDependencies: Plugin = {
  name: 'lean-dependencies',
  setup(build) {
    build.onResolve({ filter: unusedByOclif }, ({ path, importer }) =>
      oclif.test(importer) ? { path, namespace: 'nothing' } : undefined,
    )
    build.onResolve({ filter: unusedOfOclif }, ({ path, importer }) =>
      oclif.test(importer) ? { path, namespace: 'nothing' } : undefined,
    )
    build.onResolve({ filter: unusedByUndici }, ({ path, importer }) =>
      undici.test(importer) ? { path, namespace: 'nothing' } : undefined,
    )
    build.onResolve({ filter: unusedForms }, ({ path, importer }) =>
      undiciHttp.test(importer) ? { path, namespace: 'nothing' } : undefined,
    )
    build.onResolve({ filter: unusedByPg }, ({ path }) => ({ path, namespace: 'nothing' }))
    build.onResolve({ filter: unusedByConf }, ({ path, importer }) =>
      /node_modules[\\/]conf[\\/]/.test(importer) ? { path, namespace: 'nothing' } : undefined,
    )
    build.onLoad({ filter: fastifyServer }, ({ path }) => ({
      contents: readFileSync(path, 'utf8')
        .replace("'use strict'\n", `'use strict'\n${lazy}`)
        .replace("const https = require('node:https')", "const https = __lazy(() => require('node:https'))")
        .replace("const http2 = require('node:http2')", "const http2 = __lazy(() => require('node:http2'))"),
    }))
    build.onResolve({ filter: unusedByFastify }, ({ path }) => ({ path, namespace: 'nothing' }))
    build.onLoad({ filter: /./, namespace: 'nothing' }, () => ({ contents: nothing }))

    build.onResolve({ filter: /^node:http$/ }, ({ path, importer }) =>
      undici.test(importer) ? { path, namespace: 'http' } : undefined,
    )
    build.onLoad({ filter: /./, namespace: 'http' }, () => ({ contents: http }))

    build.onResolve({ filter: /^node:assert$/ }, ({ path, importer }) =>
      undici.test(importer) ? { path, namespace: 'assert' } : undefined,
    )
    build.onLoad({ filter: /./, namespace: 'assert' }, () => ({ contents: assert }))

    build.onResolve({ filter: /\/llhttp\/constants\.js$/ }, ({ path, importer }) =>
      undici.test(importer) ? { path, namespace: 'llhttp' } : undefined,
    )
    build.onLoad({ filter: /./, namespace: 'llhttp' }, () => ({ contents: llhttp }))

    build.onResolve({ filter: /^\.\/tree$/ }, ({ path, importer }) =>
      undici.test(importer) ? { path, namespace: 'tree' } : undefined,
    )
    build.onLoad({ filter: /./, namespace: 'tree' }, () => ({ contents: tree }))

    build.onResolve({ filter: /^when-exit$/ }, ({ path }) => ({ path, namespace: 'when-exit' }))
    build.onLoad({ filter: /./, namespace: 'when-exit' }, () => ({ contents: whenExit }))

    // Most of a run needs few of oclif's files: each is loaded when something of it is first used.
    build.onLoad({ filter: oclif }, ({ path }) => ({
      contents: readFileSync(path, 'utf8')
        .replace('"use strict";', `"use strict";\n${lazy}`)
        .replace(requires, 'const $1 = __lazy(() => $2);')
        // A container may run under a user that its system does not know; we use neither.
        .replace('(0, node_os_1.homedir)()', '""')
        .replace('(0, node_os_1.userInfo)().shell', 'undefined')
        // It throws past everything that could say what happened (src/cli/output/streams.ts).
        .replace("process.stdout.on('error', ", '(() => {})('),
    }))
  },
}
