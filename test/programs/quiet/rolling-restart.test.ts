import type { ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { fetch } from 'undici'
import { withDirectory } from '../../service/temporary-service.ts'
import { freePort } from '../../support/free-port.ts'
import { perTest } from '../../support/lifetime.ts'
import { sendDelta, sendDone, sendJson, startEvents, withModelServer } from '../../support/model-server.ts'
import { runProgram } from '../../support/run-program.ts'
import { makeKey, runService } from '../../support/run-service.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { describeSample } from '../../support/take-sample.ts'
import { until } from '../../support/until.ts'
import { type ReverseProxy, startHaproxy, startNginx } from '../service/reverse-proxy.ts'

/** A model server whose streams take longer than the notice of a service that stops. */
async function reply(response: ServerResponse, { body }: { body: string }): Promise<void> {
  if (!JSON.parse(body).stream) return sendJson(response, { choices: [{ message: { content: 'Hi' } }] })
  startEvents(response)
  for (let part = 0; part < 30; part++) {
    sendDelta(response, `${part} `)
    await pause(300)
  }
  sendDelta(response, 'end', 'stop')
  sendDone(response)
}

/** Sends messages over several connections until it is stopped. */
function load({ url, dispatcher }: ReverseProxy, key: string) {
  const outcomes: string[] = []
  let isDone = false
  const send = (stream: boolean) =>
    fetch(`${url}/api/chat/send`, {
      dispatcher,
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ message: 'x', model: 'm', stream }),
    })
  const worker = async () => {
    for (; !isDone; await pause(20)) {
      outcomes.push(
        await send(false).then(
          async (response) => `${response.status}${(await response.text()) && ''}`,
          (error) => String(error.cause?.code ?? error),
        ),
      )
    }
  }
  const workers = Array.from({ length: 8 }, worker)
  return {
    outcomes,
    stream: async () => (await send(true)).text(),
    async stop() {
      isDone = true
      await Promise.all(workers)
    },
  }
}

describeSample('a rolling restart of two services under load', 1, () => {
  const sandbox = perTest(createSandbox)

  /** @returns how many messages failed */
  const restart = (startProxy: typeof startNginx) =>
    withModelServer(reply, (modelServer) =>
      withDirectory(async (directory) => {
        const ports = [await freePort(), await freePort()]
        const start = (port: number) => {
          const public_ = ['--behind-proxy', '--public-url', 'https://chat.example']
          return runService(sandbox, ['--port', String(port), '--model-server', modelServer.url, ...public_])
        }
        const services = await Promise.all(ports.map(start))
        const urls = services.map(({ url }) => url)
        const proxy = await startProxy(directory, urls)
        const { outcomes, stream, stop } = load(proxy, await makeKey(sandbox, ['--tier', 'enterprise']))
        const streams = [stream(), stream()]
        for (const [index, port] of ports.entries()) {
          await until(async () => proxy.sendsTo(index), 20_000)
          await until(() => outcomes.length > 50 * (index + 1), 20_000)
          await services[index]?.stop()
          services[index] = await start(port)
        }
        const before = outcomes.length
        await until(() => outcomes.length > before + 50, 20_000)
        await stop()
        for (const text of await Promise.all(streams)) expect(text).to.include('event: done')
        await proxy.close()
        await Promise.all(services.map((service) => service.stop()))
        const lost = outcomes.filter((outcome) => outcome !== '200')
        // Each message is stored with its reply, and no message was sent twice.
        const status = await runProgram(sandbox, ['service', 'status', '--json'])
        const { messages } = JSON.parse(status.stdout)
        expect(messages).to.equal(2 * (outcomes.length - lost.length + streams.length))
        return lost
      }),
    )

  it('loses no message behind HAProxy, and streams end whole', async () => {
    expect(await restart(startHaproxy)).to.deep.equal([])
  })

  it('loses next to no message behind nginx, stores none of those, and streams end whole', async () => {
    const lost = await restart(startNginx)
    expect(lost.filter((outcome) => outcome !== '502')).to.deep.equal([])
    expect(lost.length).to.be.at.most(3)
  })
})
