import type { ChildProcess } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect } from 'chai'
import { expectFailure } from '../../support/expect-failure.ts'
import { type FaultServer, json, sse, startFaultServer } from '../../support/fault-server.ts'
import { perTest } from '../../support/lifetime.ts'
import { type Run, startBuilt } from '../../support/run-chatctl.ts'
import { runProgram } from '../../support/run-program.ts'
import { createSandbox } from '../../support/sandbox.ts'

/** A service that runs until the end of its test. */
interface Served {
  url: string
  pid: number
  child: ChildProcess
  /** Everything that was written to stdout so far. */
  stdout(): string
  /** Sends it a signal. @returns the exit code */
  end(signal?: NodeJS.Signals): Promise<number | null>
}

describe('service run', () => {
  const sandbox = perTest(createSandbox)
  let data: string
  let running: Served[]
  beforeEach(() => {
    data = join(sandbox.home, 'data')
    running = []
  })
  afterEach(() => {
    for (const { child } of running) if (child.exitCode === null) child.kill('SIGKILL')
  })

  const chatctl = (...args: string[]) => runProgram(sandbox, args)
  const createKey = async (): Promise<{ id: string; key: string }> =>
    JSON.parse(
      (await chatctl('service', 'keys', 'create', '--name', 'test', '--data', data, '--json')).stdout,
    )

  async function serve(...args: string[]): Promise<Served> {
    const child = startBuilt(sandbox, ['service', 'run', '--port', '0', '--data', data, '--json', ...args])
    const closed = once(child, 'close')
    let stdout = ''
    child.stderr?.resume()
    await new Promise<void>((resolve, reject) => {
      child.stdout?.on('data', (chunk) => {
        stdout += chunk
        if (stdout.includes('\n')) resolve()
      })
      child.once('close', () => reject(new Error('the service ended before it was ready')))
    })
    const served: Served = {
      ...JSON.parse(stdout),
      child,
      stdout: () => stdout,
      end: async (signal = 'SIGTERM') => {
        child.kill(signal)
        return (await closed)[0]
      },
    }
    running.push(served)
    return served
  }

  const as = (url: string, key: string) => ({ CHATCTL_BASE_URL: url, CHATCTL_API_KEY: key })

  it('prints one line when it is ready, responds, and exits with code 0 on SIGTERM and SIGINT', async () => {
    const { key } = await createKey()
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const served = await serve()
      expect(JSON.parse(served.stdout())).to.include({ url: served.url, pid: served.child.pid })
      const run = await runProgram(sandbox, ['chat', 'models'], { env: as(served.url, key) })
      expect(run).to.include({ exitCode: 0, stderr: '' })
      expect(await served.end(signal)).to.equal(0)
      expect(served.stdout().split('\n')).to.have.length(2)
      expect(readdirSync(data)).to.deep.equal(['chatctl.db', 'limits.db'])
    }
  })

  it('prints only its URL with --log-level silent and without --json', async () => {
    const args = ['service', 'run', '--port', '0', '--data', data, '--log-level', 'silent']
    const child = startBuilt(sandbox, args)
    let output = ''
    child.stdout?.on('data', (chunk) => {
      output += chunk
      child.kill('SIGTERM')
    })
    child.stderr?.on('data', (chunk) => {
      output += chunk
    })
    expect(await once(child, 'close')).to.deep.equal([0, null])
    expect(output).to.match(/^http:\/\/127\.0\.0\.1:\d+\n$/)
  })

  it('finishes a streamed reply before it exits', async () => {
    const pieces = ['One', ' two', ' three', ' four']
    const frames = pieces.map((content) => ({ choices: [{ index: 0, delta: { content } }] }))
    const stop = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }
    const upstream: FaultServer = await startFaultServer({
      choose: ({ path }) =>
        path.endsWith('/models')
          ? json(200, { object: 'list', data: [{ id: 'm', object: 'model', created: 1, owned_by: 'o' }] })
          : sse([...frames, stop], { pause: 300 }),
    })
    try {
      const { key } = await createKey()
      const served = await serve('--upstream', `${upstream.url}/v1`)
      const child = startBuilt(sandbox, ['chat', 'send', 'Count', '--stream'], { env: as(served.url, key) })
      child.stdin?.end()
      let text = ''
      let ended: Promise<number | null> | undefined
      child.stdout?.on('data', (chunk) => {
        text += chunk
        ended ??= served.end()
      })
      expect(await once(child, 'close')).to.deep.equal([0, null])
      expect(text).to.equal('One two three four\n')
      expect(await ended).to.equal(0)
    } finally {
      await upstream.close()
    }
  })

  const fails = (...args: string[]): Promise<Run> => chatctl('service', 'run', '--port', '0', ...args)

  it('exits with code 7 if the port is in use, with nothing on stdout', async () => {
    const taken = createServer()
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
    const { port } = taken.address() as { port: number }
    try {
      const run = await chatctl(
        'service',
        'run',
        '--port',
        `${port}`,
        '--data',
        data,
        '--log-level',
        'silent',
      )
      expectFailure(run, 7, `Port ${port} on 127.0.0.1 is already in use`, 'Hint:  ')
    } finally {
      taken.close()
    }
  })

  it('exits with code 2 if the machine does not have the address', async () => {
    const quiet = ['--data', data, '--log-level', 'silent', '--behind-proxy']
    expectFailure(await fails('--host', '192.0.2.1', ...quiet), 2, 'no address 192.0.2.1')
    expectFailure(await fails('--host', 'nowhere.invalid', ...quiet), 2, 'no address nowhere.invalid')
  })

  it('exits with code 1 if the data directory is a file', async () => {
    const file = join(sandbox.home, 'file')
    writeFileSync(file, 'x')
    for (const directory of [file, join(file, 'inside')]) {
      expectFailure(await fails('--data', directory), 1, `${directory} is not a directory`)
      expectFailure(await chatctl('service', 'keys', 'list', '--data', directory), 1, directory)
      expectFailure(await chatctl('service', 'status', '--data', directory), 1, directory)
    }
    expect(readFileSync(file, 'utf8')).to.equal('x')
  })

  it('exits with code 2 if the upstream URL is invalid or its key file does not exist', async () => {
    expectFailure(await fails('--upstream', 'invalid', '--data', data), 2, 'upstream must be an http')
    const none = ['--upstream', 'http://127.0.0.1:9/v1', '--upstream-key-file', 'nowhere', '--data', data]
    expectFailure(await fails(...none), 2, 'nowhere')
  })

  it('accepts a key as soon as it is created, and rejects it as soon as it is revoked', async () => {
    const served = await serve()
    const { id, key } = await createKey()
    const models = () => runProgram(sandbox, ['chat', 'models'], { env: as(served.url, key) })
    expect(await models()).to.include({ exitCode: 0 })
    const revoke = ['service', 'keys', 'revoke', id, '--data', data]
    expectFailure(await chatctl(...revoke), 3, '--yes')
    expect(await models()).to.include({ exitCode: 0 })
    expect(await chatctl(...revoke, '--yes')).to.include({ exitCode: 0, stderr: '' })
    expectFailure(await models(), 4, 'Invalid API key')
    expectFailure(await chatctl('service', 'keys', 'revoke', 'key_none', '-y', '--data', data), 6, 'key_none')
  })

  it('stores only the digest of a key', async () => {
    const served = await serve()
    const { key } = await createKey()
    expect(key).to.match(/^ck_/)
    await runProgram(sandbox, ['chat', 'send', 'hi'], { env: as(served.url, key) })
    // While the service runs, a write-ahead log is beside the database.
    const contents = readdirSync(data).map((name) => readFileSync(join(data, name), 'latin1'))
    expect(contents.length).to.be.greaterThan(1)
    expect(contents.some((content) => content.includes(key))).to.equal(false)
    const list = await chatctl('service', 'keys', 'list', '--data', data, '--json')
    expect(list.stdout).not.to.contain(key)
    const digest = createHash('sha256').update(key).digest('hex')
    expect(contents.some((content) => content.includes(digest))).to.equal(true)
  })

  it('shares its data with other commands that run at the same time', async () => {
    data = join(sandbox.home, '.local', 'share', 'chatctl')
    mkdirSync(data, { recursive: true, mode: 0o700 })
    const { key } = await createKey()
    const served = await serve()
    const runs = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        runProgram(
          sandbox,
          ['chat', 'send', `message ${index}`],
          index % 2 ? { env: as(served.url, key) } : {},
        ),
      ),
    )
    for (const { exitCode, stderr } of runs)
      expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '' })
    const status = JSON.parse((await chatctl('service', 'status', '--json')).stdout)
    expect(status).to.include({ contexts: 8, messages: 16 })
    expect(status.running).to.include({ url: served.url, pid: served.child.pid, health: 'ready' })
  })
})
