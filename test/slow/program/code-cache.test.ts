import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { decompress } from '../../../src/boot/code-cache-format.ts'
import { Directories } from '../../../src/system/files/directories.ts'
import { root } from '../../scripts/package-file.ts'
import { perTest } from '../../support/lifetime.ts'
import { binary } from '../../support/run-chatctl.ts'
import { runProgram } from '../../support/run-program.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { describeSample } from '../../support/take-sample.ts'

/** Records each bundle that is compiled, and whether V8 used its cache. */
const recordScripts = `
  const vm = require('node:vm')
  const { Script } = vm
  vm.Script = class extends Script {
    constructor(text, options) {
      super(text, options)
      const isUsed = options.cachedData !== undefined && this.cachedDataRejected === false
      const line = require('node:path').basename(options.filename) + (isUsed ? ' used' : ' not used')
      require('node:fs').appendFileSync(process.env.RECORD, line + '\\n')
    }
  }`

/** V8 runs the compiled code it finds, so a directory that another user could write to is not even read. */
describeSample('the code cache', 5, function () {
  this.timeout(60_000)
  const sandbox = perTest(createSandbox)
  let base: string
  let directory: string
  beforeEach(function () {
    if (process.platform === 'win32') return this.skip()
    base = join(sandbox.home, 'base')
    directory = join(base, 'chatctl', 'cache')
    mkdirSync(directory, { recursive: true, mode: 0o700 })
  })

  const isUsed = async (): Promise<boolean> => {
    const { exitCode, stderr } = await runProgram(sandbox, ['config', 'path'], {
      env: { XDG_CACHE_HOME: base },
    })
    expect(exitCode, stderr).to.equal(0)
    return readdirSync(directory).length > 0
  }

  const trusted: [string, () => void][] = [
    ['the user’s directories', () => {}],
    ['a subdirectory of a sticky directory, such as /tmp', () => chmodSync(base, 0o1777)],
    [
      'a directory that the user’s symbolic link points to',
      () => {
        const elsewhere = join(sandbox.home, 'elsewhere')
        renameSync(base, elsewhere)
        symlinkSync(elsewhere, base)
      },
    ],
  ]
  for (const [where, prepare] of trusted) {
    it(`is used in ${where}`, async () => {
      prepare()
      expect(await isUsed()).to.equal(true)
    })
  }

  const distrusted: [string, () => void][] = [
    ['a directory that everyone can write to', () => chmodSync(directory, 0o777)],
    ['a subdirectory of one that everyone can write to', () => chmodSync(base, 0o777)],
  ]
  for (const [where, prepare] of distrusted) {
    it(`is not used in ${where}`, async () => {
      prepare()
      expect(await isUsed()).to.equal(false)
    })
  }

  for (const [what, of] of [
    ['directory', () => directory],
    ['parent directory', () => base],
  ] as const) {
    it(`is not used if the ${what} belongs to another user`, async function () {
      // Only root can change the owner of a directory.
      if (process.getuid?.() !== 0) return this.skip()
      chownSync(of(), 54_321, 54_321)
      expect(await isUsed()).to.equal(false)
    })
  }

  const run = async (args: string[], env: NodeJS.ProcessEnv = {}): Promise<void> => {
    const { exitCode, stderr } = await runProgram(sandbox, args, { env: { XDG_CACHE_HOME: base, ...env } })
    expect(exitCode, stderr).to.equal(0)
  }
  const kept = (): string[] =>
    readdirSync(directory)
      .filter((file) => file.startsWith('main-'))
      .sort()

  it('is written by the second run, because a single run would not benefit', async () => {
    await run(['config', 'path'])
    expect(kept().map((file) => file.slice(file.lastIndexOf('.')))).to.deep.equal(['.once'])
    await run(['config', 'path'])
    const [code = '', ...marks] = kept()
    expect(marks).to.deep.equal([`${code}.config-path`, `${code}.once`])
    const path = join(directory, code)
    const { size, mode, mtimeMs } = statSync(path)
    expect(size).to.be.above(100_000)
    expect(mode & 0o777).to.equal(0o600)
    await run(['config', 'path'])
    expect(statSync(path).mtimeMs).to.equal(mtimeMs)
  })

  it('grows with each command, and loses versions that were not written for a day', async () => {
    await run(['config', 'path'])
    const [other, old] = ['main-0123456789abcdef-13.0-x64', 'main-fedcba9876543210-13.0-x64']
    for (const file of [other, old]) writeFileSync(join(directory, file), '')
    utimesSync(join(directory, old), 0, Date.now() / 1000 - 25 * 60 * 60)
    await run(['config', 'path'])
    expect(kept()).to.include(other).and.not.to.include(old)
    rmSync(join(directory, other))
    const [code = ''] = kept()
    const before = statSync(join(directory, code)).size
    await run(['config', 'list'])
    expect(kept()).to.include(`${code}.config-list`)
    expect(statSync(join(directory, code)).size).to.be.above(before)
  })

  it('is rebuilt if a bit or a part of it is wrong, because V8 would crash', async () => {
    for (let runs = 0; runs < 2; runs++) await run(['config', 'path'])
    const path = join(directory, kept()[0] ?? '')
    for (const lose of [
      (bytes: Buffer) => bytes.fill((bytes[8192] ?? 0) ^ 1, 8192, 8193),
      (bytes: Buffer) => bytes.fill(0, 8192, 12_288),
      (bytes: Buffer) => bytes.subarray(0, bytes.length / 2),
      () => Buffer.alloc(0),
    ]) {
      const { size } = statSync(path)
      const damaged = lose(readFileSync(path))
      writeFileSync(path, damaged)
      await run(['config', 'path'])
      expect(readFileSync(path).equals(damaged)).to.equal(false)
      expect(statSync(path).size).to.be.within(size * 0.9, size * 1.1)
      await run(['config', 'path'])
    }
  })

  it('leaves nothing behind if there is no space for it', async () => {
    await run(['config', 'path'])
    // In units of 512 bytes.
    const line = `ulimit -f 100; exec '${process.execPath}' '${binary}' config path`
    const env = { ...sandbox.env, XDG_CACHE_HOME: base }
    const { status, stderr } = spawnSync('sh', ['-c', line], { env, encoding: 'utf8' })
    expect({ status, stderr }).to.deep.equal({ status: 0, stderr: '' })
    expect(kept().map((file) => file.slice(file.lastIndexOf('.')))).to.deep.equal(['.once'])
  })

  /** The code of the main bundle, without the markers. */
  const caches = (): string[] =>
    readdirSync(directory).filter((name) => /^main-.*-(x64|arm64)(-\d+)?$/.test(name))

  it('is separate for other V8 flags, and is used by later runs with the same flags', async () => {
    const other = { NODE_OPTIONS: '--stack-trace-limit=50' }
    for (let count = 0; count < 2; count++) await run(['config', 'path'])
    expect(caches()).to.have.lengthOf(1)
    for (let count = 0; count < 2; count++) await run(['config', 'path'], other)
    expect(caches()).to.have.lengthOf(2)
    const times = () => caches().map((name) => statSync(join(directory, name)).mtimeMs)
    const before = times()
    await run(['config', 'path'], other)
    await run(['config', 'path'])
    expect(times()).to.deep.equal(before)
  })

  it('is what V8 compiles each bundle from, also under other V8 flags', async () => {
    const [recorder, record] = [join(sandbox.home, 'recorder.cjs'), join(sandbox.home, 'record')]
    writeFileSync(recorder, recordScripts)
    const other = { NODE_OPTIONS: `--stack-trace-limit=50 --require=${recorder}`, RECORD: record }
    for (let count = 0; count < 2; count++) await run(['config', 'path'])
    for (let count = 0; count < 3; count++) {
      writeFileSync(record, '')
      await run(['config', 'path'], other)
    }
    expect(readFileSync(record, 'utf8')).to.match(
      /^start\.cjs not used\nmain\.cjs used\n(?!.*main)(\S+ used\n)*$/s,
    )
  })

  it('is neither used nor written while coverage is collected', async () => {
    const coverage = { NODE_V8_COVERAGE: join(sandbox.home, 'coverage') }
    for (let count = 0; count < 2; count++) await run(['config', 'path'], coverage)
    expect(readdirSync(directory)).to.deep.equal([])
  })

  it('is accepted by V8 after a command that bounded the heap has written it', async () => {
    const rows = join(sandbox.home, 'users.csv')
    writeFileSync(rows, 'email\nada@example.com\n')
    const check = ['users', 'import', rows, '--dry-run', '--profile', 'local']
    for (let count = 0; count < 2; count++) await run(check)
    for (let count = 0; count < 2; count++) await run(['config', 'path'])
    expect(caches()).to.have.lengthOf(1)
  })

  it('is accepted by V8 for code that is loaded after a command bounded the heap', async () => {
    for (let count = 0; count < 3; count++) await run(['history', 'export', '--profile', 'local'])
    const names = readdirSync(directory)
    expect(names.filter((name) => /^service-.*-(x64|arm64)$/.test(name))).to.have.lengthOf(1)
    // V8 has rejected the cache of a bundle that has another one.
    expect(names.filter((name) => /-(x64|arm64)-\d+/.test(name))).to.deep.equal([])
  })
})

/** See scripts/write-code-cache.ts. */
describeSample('the code cache in the package', 1, function () {
  this.timeout(60_000)
  const sandbox = perTest(() => createSandbox({ ownCache: true }))
  /** A copy of the installed package. */
  let copy: string
  beforeEach(function () {
    copy = join(sandbox.home, 'package')
    for (const name of ['bin', 'dist', 'package.json']) {
      cpSync(join(root, name), join(copy, name), { recursive: true })
    }
    // Another version of Node than that of the build has no cache in the package.
    if (packaged().length === 0) this.skip()
  })

  const inPackage = (): string => join(copy, 'dist/code-cache')
  const packaged = (): string[] =>
    readdirSync(inPackage()).filter((name) =>
      name.endsWith(`-${process.versions.v8}-${process.platform}-${process.arch}.zst`),
    )
  const own = (): string[] => readdirSync(new Directories(sandbox.env).cache).sort()
  const run = async (args: string[], env: NodeJS.ProcessEnv = {}): Promise<void> => {
    const { exitCode, stderr } = await runProgram(sandbox, args, {
      env,
      program: [process.execPath, join(copy, 'bin/run.js')],
    })
    expect(exitCode, stderr).to.equal(0)
  }
  /** Bytes of code for the main bundle, in the package and in the cache of this machine. */
  const sizes = (): { packaged: number; own: number } => {
    const isMain = (name: string) => /^main-.*-(x64|arm64)(-\d+)?(\.zst)?$/.test(name)
    const [name = ''] = packaged().filter(isMain)
    const { cache } = new Directories(sandbox.env)
    const [ownName = ''] = own().filter(isMain)
    return {
      packaged: decompress(readFileSync(join(inPackage(), name))).length,
      own: statSync(join(cache, ownName)).size / 2,
    }
  }

  it('is used in another directory, and is the start of the cache that the second run writes', async () => {
    await run(['config', 'path'])
    expect(own()).to.have.lengthOf(1)
    await run(['config', 'path'])
    const [once = '', ...others] = own().reverse()
    const name = once.replace(/\.once$/, '')
    expect(packaged()).to.include(`${name}.zst`)
    expect(others.sort()).to.deep.equal([name, `${name}.config-path`])
    expect(sizes().own).to.be.above(sizes().packaged)
  })

  /** Whether V8 used the code of start.cjs, which bin/run.js loads first. */
  const isStartUsed = async (env: NodeJS.ProcessEnv = {}): Promise<boolean> => {
    const [recorder, record] = [join(sandbox.home, 'recorder.cjs'), join(sandbox.home, 'record')]
    writeFileSync(recorder, recordScripts)
    writeFileSync(record, '')
    const { NODE_OPTIONS = '', ...others } = env
    await run(['config', 'path'], {
      ...others,
      NODE_OPTIONS: `${NODE_OPTIONS} --require=${recorder}`,
      RECORD: record,
    })
    const [first] = readFileSync(record, 'utf8').split('\n')
    expect(first).to.be.oneOf(['start.cjs used', 'start.cjs not used'])
    return first === 'start.cjs used'
  }

  it('is used for start.cjs, but not under other V8 flags or while coverage is collected', async () => {
    expect(await isStartUsed()).to.equal(true)
    expect(await isStartUsed({ NODE_OPTIONS: '--stack-trace-limit=50' })).to.equal(false)
    expect(await isStartUsed({ NODE_V8_COVERAGE: join(sandbox.home, 'coverage') })).to.equal(false)
  })

  it('is not used if any bit of it is wrong', async () => {
    const whole = packaged().map((name) => readFileSync(join(inPackage(), name)))
    for (const [index, name] of packaged().entries()) {
      const bytes = Buffer.from(whole[index] ?? '')
      const middle = Math.floor(bytes.length / 2)
      bytes[middle] = (bytes[middle] ?? 0) ^ 1
      writeFileSync(join(inPackage(), name), bytes)
    }
    for (let count = 0; count < 2; count++) await run(['config', 'path'])
    for (const [index, name] of packaged().entries()) {
      writeFileSync(join(inPackage(), name), whole[index] ?? '')
    }
    expect(sizes().own).to.be.below(sizes().packaged)
  })
})
