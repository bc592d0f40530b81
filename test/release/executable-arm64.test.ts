import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { decompress, duplicate } from '../../src/boot/code-cache-format.ts'
import { startSecretService } from '../programs/keychain/secret-service.ts'
import { executableFor } from '../support/executable.ts'
import { findAssets } from '../support/executable-assets.ts'
import { perSuite, perTest } from '../support/lifetime.ts'
import { type RunOptions, startBuilt } from '../support/run-chatctl.ts'
import { runProgram } from '../support/run-program.ts'
import { makeKey, runService } from '../support/run-service.ts'
import { createSandbox } from '../support/sandbox.ts'
import { describeSample } from '../support/take-sample.ts'

const emulator = '/usr/bin/qemu-aarch64-static'
/** The system libraries for arm64. */
const libraries = '/usr/aarch64-linux-gnu'
/** With the processor of the Raspberry Pi 3, which lacks the extensions of later ones. */
const env = { QEMU_LD_PREFIX: libraries, QEMU_CPU: 'cortex-a53' }

const obstacle =
  process.platform === 'linux' && existsSync(emulator) && existsSync(libraries)
    ? undefined
    : 'run scripts/install-system-deps to install qemu-user-static and the libraries for arm64'
const leftOut = obstacle === undefined ? '' : `; skipped: ${obstacle}`

describeSample(`the executable for Linux on arm64, in an emulator${leftOut}`, 1, () => {
  // The emulator is about ten times slower than the processor.
  const timeout = 60_000
  const sandbox = perSuite(() => createSandbox({ ownCache: true }))
  let program: [emulator: string, executable: string]
  before(obstacle ?? 'build it', async function () {
    if (obstacle !== undefined) {
      if (process.env['CI']) throw new Error(obstacle)
      this.skip()
    }
    this.timeout(300_000)
    program = [emulator, await executableFor('linux-arm64')]
  })

  const run = (args: readonly string[], options: RunOptions = {}) =>
    runProgram(sandbox, args, { timeout, program, ...options, env: { ...env, ...options.env } })

  it('prints its version and its help', async () => {
    expect(await run(['--version'])).to.include({ exitCode: 0, stderr: '' })
    const { stdout } = await run(['chat', 'send', '--help'])
    expect(stdout).to.contain('USAGE').and.contain('$ chatctl chat send')
  })

  it('sends a message, with code caches that V8 accepts', async () => {
    // A cache of this machine that V8 rejects gets a second file, with V8's version tag in its name.
    const cache = join(sandbox.home, '.cache/chatctl/cache')
    mkdirSync(cache, { recursive: true, mode: 0o700 })
    const caches = findAssets(readFileSync(program[1]), 'dist/code-cache/')
    expect(caches).to.have.length.above(4)
    expect(caches.filter(({ name }) => name.startsWith('dist/code-cache/start-'))).to.have.lengthOf(1)
    // The code of start.cjs is never in the cache directory.
    for (const { name, content } of caches.filter(({ name }) => name.endsWith('.zst')))
      writeFileSync(join(cache, basename(name, '.zst')), duplicate(decompress(content)), { mode: 0o600 })
    const { exitCode, stdout } = await run(['chat', 'send', 'Hello'])
    expect(exitCode).to.equal(0)
    expect(stdout).to.contain('Your message had 1 word')
    expect(readdirSync(cache).filter((name) => name.includes('-linux-arm64-'))).to.deep.equal([])
  })

  it('can be loaded by kernels with memory pages of 64 KB', () => {
    const segments = findLoadedSegments(readFileSync(program[1]))
    expect(segments).to.have.length.above(1)
    for (const { offset, address } of segments) expect((address - offset) % 65_536n).to.equal(0n)
  })

  it('creates a user, with a password that it hashes', async () => {
    const words = ['users', 'create', '--email', 'ada@example.com', '--password-stdin', '--profile', 'local']
    const created = await run([...words, '--json'], { stdin: 'correct horse battery staple' })
    expect(created.exitCode).to.equal(0)
    expect(JSON.parse(created.stdout)).to.include({ email: 'ada@example.com' })
  })

  it('filters JSON with jq, which is WebAssembly', async () => {
    expect(await run(['chat', 'models', '--jq', '.data[].id'])).to.include({
      exitCode: 0,
      stdout: 'test-program\n',
    })
  })

  it('serves requests until SIGTERM', async () => {
    const service = await runService(sandbox, [], { program, env, timeout })
    const key = await makeKey(sandbox)
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const models = await fetch(`${service.url}/v1/chat/models`, { headers })
    expect(await models.json()).to.have.nested.property('data[0].id', 'test-program')
    const messages = [{ role: 'user', content: 'Hello' }]
    const body = JSON.stringify({ model: 'test-program', messages })
    const reply = await fetch(`${service.url}/v1/chat/completions`, { method: 'POST', headers, body })
    expect(reply.status).to.equal(200)
    expect(await reply.text()).to.contain('Your message had 1 word')
    await service.stop()
    expect(service.child.exitCode).to.equal(0)
    expect(service.log()).to.equal('')
  })

  describe('with a keychain', () => {
    const keyring = perTest(() => startSecretService(sandbox))

    /** Starts the executable as its own child process, which the emulator cannot do. */
    async function callKeychain(request: object): Promise<unknown> {
      const child = startBuilt(sandbox, [], {
        program,
        env: { ...env, ...keyring.env, CHATCTL_KEYCHAIN_CALL: `${process.pid}` },
      })
      child.stdin?.end(JSON.stringify(request))
      const [stdout] = await Promise.all([child.stdout ? text(child.stdout) : '', once(child, 'close')])
      return JSON.parse(stdout)
    }

    it('loads the native add-on, and stores a credential', async () => {
      const item = { service: 'chatctl:https://chat.example', account: 'work' }
      const set = { operation: 'set', ...item, value: 'canary' }
      expect(await callKeychain(set)).to.deep.equal({ value: true })
      expect(await callKeychain({ operation: 'get', ...item })).to.deep.equal({ value: 'canary' })
    })
  })
})

/** The parts of a 64-bit ELF file that the kernel loads, from its program headers (System V ABI, chapter 5). */
function findLoadedSegments(file: Buffer): { offset: bigint; address: bigint }[] {
  const start = Number(file.readBigUInt64LE(0x20))
  const size = file.readUInt16LE(0x36)
  return Array.from({ length: file.readUInt16LE(0x38) }, (_, index) => start + index * size)
    .filter((header) => file.readUInt32LE(header) === 1)
    .map((header) => ({
      offset: file.readBigUInt64LE(header + 8),
      address: file.readBigUInt64LE(header + 16),
    }))
}
