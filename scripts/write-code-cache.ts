import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { Directories } from '../src/system/directories.ts'

/**
 * Adds V8's code cache of common commands to the package, for the first run on a machine
 * (src/boot/load-bundle.ts). Runs a copy of the built program in an empty home directory, and copies its
 * cache to dist/code-cache. V8 accepts a cache only from the same build of V8, so a release runs this
 * script with each supported version of Node: `node scripts/write-code-cache.ts [--output DIRECTORY]
 * [--platform PLATFORM] [-- NODE...]`
 */

const root = resolve(import.meta.dirname, '..')
const packaged = join(root, 'dist/code-cache')
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    output: { type: 'string', default: packaged },
    platform: { type: 'string', default: process.platform },
  },
})
/** The words that start Node.js: of another version, or of another system in an emulator. */
const [command = '', ...start] = positionals.length === 0 ? [process.execPath] : positionals
const home = mkdtempSync(join(tmpdir(), 'chatctl-code-cache-'))
const env = {
  HOME: home,
  USERPROFILE: home,
  APPDATA: join(home, 'roaming'),
  LOCALAPPDATA: join(home, 'local'),
  SystemRoot: process.env['SystemRoot'],
  CHATCTL_API_KEY: 'none',
}

async function run(...args: string[]): Promise<void> {
  const child = spawn(command, [...start, join(home, 'bin/run.js'), ...args], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const messages: Buffer[] = []
  child.stderr.on('data', (chunk: Buffer) => messages.push(chunk))
  const [exitCode] = await once(child, 'close')
  if (exitCode !== 0) throw new Error(`chatctl ${args.join(' ')}: ${Buffer.concat(messages)}`)
}

// A cache contains the path of the program, which must not be that of this directory.
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
  for (let runs = 0; runs < 2; runs++) await run('chat', 'models', '--json', '--base-url', url)
  for (let runs = 0; runs < 2; runs++) await run('api', '/v1/settings', '--base-url', url)
  const { cache } = new Directories(env, values.platform as NodeJS.Platform)
  const names = readdirSync(cache).filter((name) => !name.endsWith('.once'))
  if (names.length === 0) throw new Error(`chatctl wrote no code cache to ${cache}`)
  mkdirSync(values.output, { recursive: true })
  for (const name of names) {
    // Not a copy, because only this user may read the original.
    writeFileSync(join(values.output, name), readFileSync(join(cache, name)))
  }
} finally {
  server.close()
  rmSync(home, { recursive: true, force: true })
}
