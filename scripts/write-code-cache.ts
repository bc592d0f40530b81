import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { compress, readDuplicate } from '../src/boot/code-cache-format.ts'
import { Directories } from '../src/system/files/directories.ts'

/**
 * Adds V8's code cache of common commands to the package, for the first run on a machine
 * (src/boot/load-bundle.ts). Runs a copy of the built program in an empty home directory, and copies its
 * cache to dist/code-cache. V8 accepts a cache only from the same build of V8, so a release runs this
 * script with each supported version of Node: `node scripts/write-code-cache.ts [--output DIRECTORY]
 * [-- NODE...]`
 */

const root = resolve(import.meta.dirname, '..')
const packaged = join(root, 'dist/code-cache')
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { output: { type: 'string', default: packaged } },
})
/** The words that start Node.js: of another version, or of another system in an emulator. */
const [command = '', ...start] = positionals.length === 0 ? [process.execPath] : positionals
const home = mkdtempSync(join(tmpdir(), 'chatctl-code-cache-'))
const preloaded = join(home, 'deterministic-compilation.ts')
/** The hashes of names in a cache depend on a random seed, which V8 replaces when it reads the cache. */
const deterministic = ['--random-seed=1', '--require', preloaded]
const env = {
  HOME: home,
  // On Windows too, where an emulator may set the others.
  XDG_CACHE_HOME: join(home, 'cache'),
  XDG_CONFIG_HOME: join(home, 'config'),
  XDG_DATA_HOME: join(home, 'data'),
  XDG_STATE_HOME: join(home, 'state'),
  USERPROFILE: home,
  SystemRoot: process.env['SystemRoot'],
  CHATCTL_API_KEY: 'none',
}

async function run(...args: string[]): Promise<void> {
  // A file, because programs in Wine cannot use the pipes of Linux.
  const log = join(home, 'stderr')
  const stderr = openSync(log, 'w')
  const child = spawn(command, [...start, ...deterministic, join(home, 'bin/run.js'), ...args], {
    env,
    stdio: ['ignore', 'ignore', stderr],
  })
  closeSync(stderr)
  const [exitCode] = await once(child, 'close')
  if (exitCode !== 0) throw new Error(`chatctl ${args.join(' ')}: ${readFileSync(log, 'utf8')}`)
}

cpSync(join(root, 'scripts/deterministic-compilation.ts'), preloaded)
// Without the code caches of an earlier call, which the program would read.
for (const name of ['bin', 'dist', 'package.json']) {
  const filter = (path: string): boolean => path !== packaged
  cpSync(join(root, name), join(home, name), { recursive: true, filter })
}
const server = createServer((_, response) => {
  response.writeHead(200, { 'content-type': 'application/json' }).end('{"data":[]}')
})
await once(server.listen(0, '127.0.0.1'), 'listening')
try {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  // The program writes the cache of a bundle in the second run that loads it.
  for (let runs = 0; runs < 2; runs++) await run('chat', 'send', 'Hello', '--profile', 'local')
  for (let runs = 0; runs < 2; runs++) await run('api', '/v1/settings', '--base-url', url)
  // The code of start.cjs is that of the last run, which writes no cache, like most runs. It must not set V8 flags
  // (src/boot/v8-flags.ts), because V8 would reject the code.
  for (let runs = 0; runs < 3; runs++) await run('chat', 'models', '--json', '--base-url', url)
  const { cache } = new Directories(env)
  mkdirSync(values.output, { recursive: true })
  // Not compressed, because loading node:zlib would take longer than compiling start.cjs.
  const ofStart = readdirSync(home).filter((name) => name.startsWith('start-'))
  if (ofStart.length === 0) throw new Error('The runs wrote no code of start.cjs')
  for (const name of ofStart) cpSync(join(home, name), join(values.output, name))
  let written = 0
  for (const name of readdirSync(cache)) {
    const code = readDuplicate(readFileSync(join(cache, name)))
    // The others are markers.
    if (code === undefined) continue
    // The options of these runs do not change the flags for which V8 checks.
    const plain = name.replace(/-\d+$/, '')
    writeFileSync(join(values.output, `${plain}.zst`), compress(code))
    written += 1
  }
  if (written === 0) throw new Error(`chatctl wrote no code cache to ${cache}`)
} finally {
  server.close()
  rmSync(home, { recursive: true, force: true })
}
