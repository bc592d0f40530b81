import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { Agent, fetch } from 'undici'
import { expectFailure } from '../../support/expect-failure.ts'
import { perTest } from '../../support/lifetime.ts'
import { sendDelta, sendDone, sendJson, startEvents, withModelServer } from '../../support/model-server.ts'
import { type Run, startBuilt } from '../../support/run-chatctl.ts'
import { runProgram } from '../../support/run-program.ts'
import { createSandbox } from '../../support/sandbox.ts'

/** Stops the program, as a process, while it works. */
describe('a service that is stopped', () => {
  const sandbox = perTest(createSandbox)
  let child: ChildProcess
  afterEach(() => {
    child.kill('SIGKILL')
  })

  async function start(...flags: string[]): Promise<string> {
    child = startBuilt(sandbox, ['service', 'run', '--port', '0', '--log-level', 'silent', ...flags])
    child.stdin?.end()
    const [url] = await once(child.stdout as NodeJS.ReadableStream, 'data')
    return String(url).trim()
  }

  const createKey = async () =>
    (
      await runProgram(sandbox, [
        'service',
        'keys',
        'create',
        '--name',
        'x',
        '--tier',
        'enterprise',
        '--jq',
        '.key',
      ])
    ).stdout.trim()

  it('announces it behind a proxy on /readyz and with Connection: close, and still responds', async () => {
    const key = await createKey()
    const url = await start('--behind-proxy', '--public-url', 'https://chat.example', '--admin-port', 'off')
    const dispatcher = new Agent({ connections: 1 })
    const get = (path: string) =>
      fetch(url + path, { dispatcher, headers: { authorization: `Bearer ${key}` } })
    const exit = once(child, 'exit')
    expect((await get('/v1/settings')).headers.get('connection')).to.equal('keep-alive')
    child.kill('SIGTERM')
    let probe = await get('/readyz')
    while (probe.status === 200) probe = await get('/readyz')
    expect(probe.status).to.equal(503)
    const answer = await get('/v1/settings')
    expect(answer.status).to.equal(200)
    expect(answer.headers.get('connection')).to.equal('close')
    expect(await exit).to.deep.equal([0, null])
    await dispatcher.close()
  })

  it('finishes its requests under load, accepts no new connection, and exits with code 0', () =>
    withModelServer(
      async (response) => {
        await pause(600)
        sendJson(response, { choices: [{ message: { content: 'Done' } }] })
      },
      async (modelServer) => {
        const key = await createKey()
        const url = await start('--model-server', modelServer.url)
        const dispatcher = new Agent({ connections: 40 })
        const ask = () =>
          fetch(`${url}/api/chat/send`, {
            dispatcher,
            method: 'POST',
            headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
            body: JSON.stringify({ message: 'x', model: 'm' }),
          }).then(
            async (response) =>
              `${response.status} ${((await response.json()) as { response: string }).response}`,
            (error) => String(error.cause.code),
          )
        const idle = connect(Number(new URL(url).port), '127.0.0.1')
        idle.on('error', () => {})
        idle.resume()
        const asked = Array.from({ length: 40 }, ask)
        while (modelServer.requestsOf('/v1/chat/completions').length < 40) await pause(20)
        const exit = once(child, 'exit')
        const before = Date.now()
        child.kill('SIGTERM')
        await pause(150)
        const late = await new Promise<string>((resolve) => {
          const socket = connect(Number(new URL(url).port), '127.0.0.1')
          socket.once('connect', () => resolve('connected'))
          socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''))
        })
        expect(late).to.equal('ECONNREFUSED')
        expect(new Set(await Promise.all(asked))).to.deep.equal(new Set(['200 Done']))
        expect(await exit).to.deep.equal([0, null])
        expect(Date.now() - before).to.be.below(4_000)
        await dispatcher.close()
      },
    ))

  it('lets a reply of several seconds end whole', () =>
    withModelServer(
      async (response) => {
        startEvents(response)
        sendDelta(response, 'The beginning')
        await pause(6_000)
        sendDelta(response, ' and the end', 'stop')
        sendDone(response)
      },
      async (modelServer) => {
        const key = await createKey()
        const url = await start('--model-server', modelServer.url)
        const response = await fetch(`${url}/api/chat/send`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          body: JSON.stringify({ message: 'x', model: 'm', stream: true }),
        })
        const exit = once(child, 'exit')
        child.kill('SIGTERM')
        const events = await response.text()
        expect(events).to.include('"response":"The beginning and the end"').and.not.include('event: error')
        expect(await exit).to.deep.equal([0, null])
      },
    ))

  it('is ended immediately by a second signal', () =>
    withModelServer(
      (response) => startEvents(response),
      async (modelServer) => {
        const key = await createKey()
        const url = await start('--model-server', modelServer.url)
        const asked = fetch(`${url}/api/chat/send`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          body: JSON.stringify({ message: 'x', model: 'm', stream: true }),
        }).catch(() => undefined)
        while (modelServer.requestsOf('/v1/chat/completions').length === 0) await pause(20)
        const exit = once(child, 'exit')
        child.kill('SIGTERM')
        await pause(300)
        expect(child.exitCode).to.equal(null)
        const before = Date.now()
        child.kill('SIGTERM')
        expect(await exit).to.deep.equal([null, 'SIGTERM'])
        expect(Date.now() - before).to.be.below(1_000)
        await asked
      },
    ))
})

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

  const fails = (...args: string[]): Promise<Run> => chatctl('service', 'run', '--port', '0', ...args)

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
})
