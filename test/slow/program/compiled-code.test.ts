import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { perTest } from '../../support/lifetime.ts'
import { binary } from '../../support/run-chatctl.ts'
import { runProgram } from '../../support/run-program.ts'
import { createSandbox } from '../../support/sandbox.ts'

/** See docs/decisions/0003-bundling.md. */
describe('the code cache of the bundles', function () {
  this.timeout(60_000)
  const sandbox = perTest(() => createSandbox({ ownCache: true }))

  const kept = (): string[] =>
    readdirSync(join(sandbox.home, '.cache/chatctl/cache')).filter((file) => file.startsWith('main-'))
  const run = async (...args: string[]): Promise<void> => {
    expect(await runProgram(sandbox, args)).to.include({ exitCode: 0, stderr: '' })
  }

  it('is written by the second run, because a single run would not benefit', async () => {
    await run('config', 'path')
    expect(kept().map((file) => file.slice(file.lastIndexOf('.')))).to.deep.equal(['.once'])
    await run('config', 'path')
    const [code = '', ...marks] = kept().sort()
    expect(marks).to.deep.equal([`${code}.config-path`, `${code}.once`])
    const path = join(sandbox.home, '.cache/chatctl/cache', code)
    const { size, mode, mtimeMs } = statSync(path)
    expect(size).to.be.above(100_000)
    expect(mode & 0o777).to.equal(0o600)
    await run('config', 'path')
    expect(statSync(path).mtimeMs).to.equal(mtimeMs)
  })

  it('grows with each command, and loses versions that were not written for a day', async () => {
    await run('config', 'path')
    const directory = join(sandbox.home, '.cache/chatctl/cache')
    const [other, old] = ['main-0123456789abcdef-13.0-x64', 'main-fedcba9876543210-13.0-x64']
    for (const file of [other, old]) writeFileSync(join(directory, file), '')
    utimesSync(join(directory, old), 0, Date.now() / 1000 - 25 * 60 * 60)
    await run('config', 'path')
    expect(kept()).to.include(other).and.not.to.include(old)
    rmSync(join(directory, other))
    const [code = ''] = kept().sort()
    const before = statSync(join(directory, code)).size
    await run('config', 'list')
    expect(kept()).to.include(`${code}.config-list`)
    expect(statSync(join(directory, code)).size).to.be.above(before)
  })

  it('is rebuilt after part of it is lost, because V8 would crash', async () => {
    for (let runs = 0; runs < 2; runs++) await run('config', 'path')
    const path = join(sandbox.home, '.cache/chatctl/cache', kept().sort()[0] ?? '')
    for (const lose of [
      (bytes: Buffer) => bytes.fill(0, 64),
      (bytes: Buffer) => bytes.fill(0, 8192, 12_288),
      (bytes: Buffer) => bytes.subarray(0, bytes.length / 2),
      () => Buffer.alloc(0),
    ]) {
      const { size } = statSync(path)
      writeFileSync(path, lose(readFileSync(path)))
      await run('config', 'path')
      expect(statSync(path).size).to.be.within(size * 0.9, size * 1.1)
      await run('config', 'path')
    }
  })

  it('leaves nothing behind if there is no space for it', async function () {
    if (process.platform === 'win32') this.skip()
    await run('config', 'path')
    // In units of 512 bytes.
    const line = `ulimit -f 100; exec '${process.execPath}' '${binary}' config path`
    const { status, stderr } = spawnSync('sh', ['-c', line], { env: sandbox.env, encoding: 'utf8' })
    expect({ status, stderr }).to.deep.equal({ status: 0, stderr: '' })
    expect(kept().map((file) => file.slice(file.lastIndexOf('.')))).to.deep.equal(['.once'])
  })

  it('is not used in a directory that other users can write to', async () => {
    const directory = join(sandbox.home, '.cache/chatctl/cache')
    mkdirSync(directory, { recursive: true })
    chmodSync(directory, 0o777)
    await run('config', 'path')
    expect(readdirSync(directory)).to.deep.equal([])
  })
})
