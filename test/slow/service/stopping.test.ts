import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { Agent, fetch } from 'undici'
import { perTest } from '../../support/lifetime.ts'
import { sendDelta, sendDone, sendJson, startEvents, withModelServer } from '../../support/model-server.ts'
import { startBuilt } from '../../support/run-chatctl.ts'
import { makeKey } from '../../support/run-service.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { describeSample } from '../../support/take-sample.ts'

/** Stops the program, as a process, while it works. */
describeSample('a service that is stopped', 2, () => {
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

  const createKey = () => makeKey(sandbox, ['--tier', 'enterprise'])
  const send = (url: string, key: string, body: object, dispatcher?: Agent) =>
    fetch(`${url}/api/chat/send`, {
      ...(dispatcher && { dispatcher }),
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ message: 'x', model: 'm', ...body }),
    })

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
          send(url, key, {}, dispatcher).then(
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
        const response = await send(url, key, { stream: true })
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
        const asked = send(url, key, { stream: true }).catch(() => undefined)
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
