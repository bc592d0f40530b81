import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, closeSync, constants, openSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { maxSecretBytes, readNamedFile } from '../../../src/system/read-named-file.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { type FaultServer, json, startFaultServer } from '../../support/fault-server.ts'
import { binary, runBuilt, startBuilt } from '../../support/run-chatctl.ts'
import { createSandbox, type Sandbox } from '../../support/sandbox.ts'
import { thrownFailure } from '../../support/thrown-failure.ts'

interface Place {
  args(path: string): string[]
  env?(path: string): NodeJS.ProcessEnv
  exitCode: number
  max: string
}

/** Everything that names a file for chatctl to read whole. */
const places: Record<string, Place> = {
  CHATCTL_API_KEY_FILE: {
    args: () => ['chat', 'models'],
    env: (path) => ({ CHATCTL_API_KEY: '', CHATCTL_API_KEY_FILE: path }),
    exitCode: 4,
    max: '64 KiB',
  },
  '--password-file': {
    args: (path) => ['users', 'create', '--password-file', path],
    exitCode: 2,
    max: '64 KiB',
  },
  '--messages': {
    args: (path) => ['chat', 'complete', '--messages', path],
    exitCode: 2,
    max: '64 MiB',
  },
  '--data @FILE': {
    args: (path) => ['api', 'POST', '/v1/users', '--data', `@${path}`],
    exitCode: 2,
    max: '64 MiB',
  },
  'settings set KEY=@FILE': {
    args: (path) => ['settings', 'set', `app_name=@${path}`],
    exitCode: 2,
    max: '4 MiB',
  },
  'settings apply FILE': {
    args: (path) => ['settings', 'apply', path, '--yes'],
    exitCode: 2,
    max: '4 MiB',
  },
  'settings api set --file': {
    args: (path) => ['settings', 'api', 'set', '--file', path],
    exitCode: 2,
    max: '4 MiB',
  },
  '--upstream-key-file': {
    args: (path) => [
      ...['service', 'run', '--port', '0', '--upstream', 'http://127.0.0.1:9/v1'],
      ...['--upstream-key-file', path],
    ],
    exitCode: 2,
    max: '64 KiB',
  },
  '--tls-cert': {
    args: (path) => ['service', 'run', '--port', '0', '--tls-cert', path, '--tls-key', path],
    exitCode: 2,
    max: '1 MiB',
  },
}

describe('a file that a flag or a variable names', function () {
  this.timeout(60_000)
  let sandbox: Sandbox
  let server: FaultServer
  before(async function () {
    if (process.platform === 'win32') this.skip()
    server = await startFaultServer(json(200, { data: [] }))
  })
  after(() => server?.close())
  beforeEach(() => {
    sandbox = createSandbox()
    server.requests.length = 0
  })
  afterEach(() => sandbox.remove())

  const service = () => ({ CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'test-key' })
  const envOf = ({ args, env }: Place, path: string) =>
    args(path)[0] === 'service' ? {} : { ...service(), ...env?.(path) }
  const makePipe = (): string => {
    const path = join(sandbox.home, 'pipe')
    execFileSync('mkfifo', ['-m', '600', path])
    return path
  }

  for (const [name, place] of Object.entries(places)) {
    it(`is refused without an end: ${name}`, async () => {
      const run = await runBuilt(sandbox, place.args('/dev/zero'), { env: envOf(place, '/dev/zero') })
      expectFailure(run, place.exitCode, `/dev/zero is larger than ${place.max}`)
      expect(server.requests).to.deep.equal([])
    })

    it(`may be a pipe that nothing comes through, and Ctrl-C ends the wait: ${name}`, async () => {
      const path = makePipe()
      const child = startBuilt(sandbox, place.args(path), { env: envOf(place, path) })
      const closed = once(child, 'close')
      const writer = await openForWriting(path)
      child.kill('SIGINT')
      expect(await closed).to.deep.equal([null, 'SIGINT'])
      closeSync(writer)
      expect(server.requests).to.deep.equal([])
    })
  }

  it('may be a pipe of rows that nothing comes through, and Ctrl-C ends the wait', async () => {
    const path = makePipe()
    const child = startBuilt(sandbox, ['users', 'import', path, '--yes'], { env: service() })
    const closed = once(child, 'close')
    const writer = await openForWriting(path)
    child.kill('SIGINT')
    const timer = setTimeout(() => child.kill('SIGKILL'), 10_000)
    expect(await closed).to.deep.equal([130, null])
    clearTimeout(timer)
    closeSync(writer)
  })

  it('may be a pipe', async () => {
    const path = makePipe()
    const running = runBuilt(sandbox, ['chat', 'models'], {
      env: { ...service(), CHATCTL_API_KEY: '', CHATCTL_API_KEY_FILE: path },
    })
    const writer = await openForWriting(path)
    writeSync(writer, 'key-1\n')
    closeSync(writer)
    expect(await running).to.include({ exitCode: 0 })
    expect(server.requests.map(({ headers }) => headers.authorization)).to.deep.equal(['Bearer key-1'])
  })

  it('may be a process substitution of the shell', () => {
    const command =
      'CHATCTL_API_KEY_FILE=<(echo key-2) "$0" "$1" api GET /v1/settings --data @<(echo "{}") --dry-run'
    const env = { ...sandbox.env, ...service(), CHATCTL_API_KEY: '' }
    const stdout = execFileSync('bash', ['-c', command, process.execPath, binary], { env })
    expect(stdout.toString()).to.contain('/v1/settings')
  })

  it('is refused where it holds a secret and other users can write to it, with the command that helps', async () => {
    const path = join(sandbox.home, 'secret')
    writeFileSync(path, 'key-3\n')
    for (const place of ['CHATCTL_API_KEY_FILE', '--password-file', '--upstream-key-file'] as const) {
      const { args, exitCode } = places[place] as Place
      for (const mode of [0o666, 0o602, 0o620]) {
        chmodSync(path, mode)
        const run = await runBuilt(sandbox, args(path), { env: envOf(places[place] as Place, path) })
        expectFailure(
          run,
          exitCode,
          `other users can write to it (mode 0${mode.toString(8)})`,
          `chmod go-w ${path}`,
        )
        expect(run.stderr).not.to.contain('key-3')
      }
    }
    expect(server.requests).to.deep.equal([])
  })

  it('is read where others may only read it, as a mounted secret often is', () => {
    const path = join(sandbox.home, 'secret')
    writeFileSync(path, 'key-4')
    for (const mode of [0o644, 0o444, 0o440, 0o600, 0o400]) {
      chmodSync(path, mode)
      const read = () => readNamedFile(path, { maxBytes: maxSecretBytes, isSecret: true, kind: 'refused' })
      expect(read().toString()).to.equal('key-4')
    }
  })

  it('is read up to its maximum size, and not a byte further', () => {
    const path = join(sandbox.home, 'large')
    writeFileSync(path, 'x'.repeat(100_000))
    expect(readNamedFile(path, { maxBytes: 100_000, kind: 'refused' })).to.have.length(100_000)
    const failure = thrownFailure(() => readNamedFile(path, { maxBytes: 65_536, kind: 'config' }))
    expect(failure).to.include({ kind: 'config', message: `${path} is larger than 64 KiB` })
  })

  it('takes memory for its bytes, however small the pieces are in which a pipe has them', () => {
    const path = join(sandbox.home, 'pipe')
    execFileSync('mkfifo', ['-m', '600', path])
    // Each program writes one byte.
    const script = 'i=0; while [ $i -lt 300 ]; do env printf x; i=$((i+1)); done >"$0"'
    spawn('sh', ['-c', script, path], { stdio: 'ignore' })
    const before = process.memoryUsage().arrayBuffers
    expect(readNamedFile(path, { maxBytes: maxSecretBytes, kind: 'refused' })).to.have.length(300)
    expect(process.memoryUsage().arrayBuffers - before).to.be.below(4 * 1024 * 1024)
  })

  for (const [name, args, max] of [
    ['an API key', ['auth', 'login', '-p', 'w', '--with-api-key', '--insecure-storage'], '64 KiB'],
    ['a password', ['users', 'create', '--password-stdin'], '64 KiB'],
    ['a setting', ['settings', 'set', 'app_name=-'], '4 MiB'],
    ['settings', ['settings', 'apply', '-', '--yes'], '4 MiB'],
    ['a message', ['chat', 'send'], '64 MiB'],
    ['a body', ['api', 'POST', '/v1/users', '--data', '-'], '64 MiB'],
    ['ids', ['users', 'get', '-'], '64 KiB'],
  ] as const) {
    it(`is refused without an end where it is stdin and holds ${name}`, async () => {
      const child = startBuilt(sandbox, args, { env: service() })
      const zeros = Buffer.alloc(1024 * 1024, 'x')
      child.stdin?.on('error', () => {})
      const pour = (): void => {
        while (child.stdin?.writable && child.stdin.write(zeros));
      }
      child.stdin?.on('drain', pour)
      pour()
      let stderr = ''
      child.stderr?.on('data', (chunk) => {
        stderr += chunk
      })
      const [exitCode] = await once(child, 'close')
      expect(stderr).to.contain(`larger than ${max}`)
      expect(exitCode).to.equal(2)
      expect(server.requests).to.deep.equal([])
    })
  }
})

/** Opens a named pipe as soon as somebody reads from it. */
async function openForWriting(path: string): Promise<number> {
  for (let waited = 0; waited < 10_000; waited += 10) {
    try {
      return openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENXIO') throw error
      await sleep(10)
    }
  }
  throw new Error(`nobody reads ${path}`)
}
