import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { startSecretService } from '../programs/keychain/secret-service.ts'
import { attributesOf, loginWords, storedKey } from '../programs/keychain/stored-key.ts'
import { startBearerService } from '../support/bearer-service.ts'
import { executableFor } from '../support/executable.ts'
import { findAssets } from '../support/executable-assets.ts'
import { perTest } from '../support/lifetime.ts'
import { startBuilt } from '../support/run-chatctl.ts'
import { runProgram } from '../support/run-program.ts'
import { runService } from '../support/run-service.ts'
import { createSandbox } from '../support/sandbox.ts'
import { until } from '../support/until.ts'

describe('an executable', () => {
  const sandbox = perTest(() => createSandbox({ ownCache: true }))
  let original: string
  before(async function () {
    this.timeout(120_000)
    original = await executableFor(`linux-${process.arch}`)
  })

  /** A copy that a test may change. */
  function copy(): string {
    const path = join(sandbox.home, 'chatctl')
    copyFileSync(original, path)
    return path
  }

  const programOf = (path: string): [string] => [path]
  const cache = () => join(sandbox.home, '.cache/chatctl/cache')

  it('fails at once and prints nothing if its file is truncated', async () => {
    const path = copy()
    const { length } = readFileSync(path)
    for (const size of [0.999, 0.95, 0.5, 0.01].map((part) => Math.floor(length * part))) {
      truncateSync(path, size)
      const { exitCode, stdout } = await runProgram(sandbox, ['--version'], { program: programOf(path) })
      expect(exitCode, `${size} bytes`).not.to.equal(0)
      expect(stdout).to.equal('')
    }
  })

  it('ignores code caches in it that were altered', async () => {
    const path = copy()
    const executable = readFileSync(path)
    const caches = findAssets(executable, 'dist/code-cache/')
    expect(caches).to.have.length.above(4)
    // The parts of a buffer have the same memory.
    for (const { content } of caches) {
      for (const at of [0.1, 0.5, 0.9].map((part) => Math.floor(content.length * part))) {
        content[at] = ~(content[at] ?? 0)
      }
    }
    writeFileSync(path, executable)
    const run = await runProgram(sandbox, ['chat', 'send', 'Hello'], { program: programOf(path) })
    expect(run.stdout).to.contain('Your message had 1 word')
    expect(run.exitCode).to.equal(0)
  })

  for (const how of ['replaced', 'removed']) {
    describe(`whose file is ${how} while it runs`, () => {
      const keyring = perTest(() => startSecretService(sandbox))
      const service = perTest(() => startBearerService(() => true))

      it('continues to use the keychain', async () => {
        const path = copy()
        const child = startBuilt(sandbox, loginWords(service), {
          program: programOf(path),
          env: keyring.env,
        })
        await until(() => readlinkSync(`/proc/${child.pid}/exe`) === path)
        change(path, how)
        child.stdin?.end('canary\n')
        const [stdout = '', stderr = ''] = await Promise.all(
          [child.stdout, child.stderr].map((stream) => (stream ? text(stream) : '')),
        )
        expect(stderr).to.equal('')
        expect(JSON.parse(stdout)).to.include({ storage: 'keychain' })
        expect(keyring.secretTool(['lookup', ...attributesOf(service)]).stdout).to.equal(storedKey('canary'))
      })

      it('continues to serve requests', async () => {
        const path = copy()
        const service = await runService(sandbox, [], { program: programOf(path) })
        change(path, how)
        // Loads a bundle that the start of the service does not need.
        const metadata = await fetch(`${service.url}/.well-known/oauth-authorization-server`)
        expect(metadata.status).to.equal(200)
        await service.stop()
        expect(service.child.exitCode).to.equal(0)
      })
    })
  }

  it('keeps the files of another version in the cache for a day', async () => {
    mkdirSync(cache(), { recursive: true, mode: 0o700 })
    const namesOf = (hash: string) => [`main-${hash}-1.2-linux-x64`, `keyring-${hash}.node`]
    const kept = namesOf('0123456789abcdef')
    const expired = namesOf('fedcba9876543210')
    for (const name of [...kept, ...expired]) writeFileSync(join(cache(), name), '')
    for (const name of expired) utimesSync(join(cache(), name), 0, 0)
    for (let runs = 0; runs < 2; runs++) {
      expect(await runProgram(sandbox, ['doctor'], { program: programOf(original) })).to.include({
        exitCode: 0,
      })
    }
    expect(readdirSync(cache())).to.include.members(kept).and.not.include.members(expired)
  })
})

/** Replaces a file as an update does, or removes it. */
function change(path: string, how: string): void {
  if (how === 'removed') {
    rmSync(path)
  } else {
    writeFileSync(`${path}.new`, '#!/bin/sh\nexit 1\n', { mode: 0o755 })
    renameSync(`${path}.new`, path)
  }
}
