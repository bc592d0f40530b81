import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { fetch } from 'undici'
import { Client } from '../../../src/client/client.ts'
import { startService } from '../../../src/service/start-service.ts'
import { failureOf } from '../../client/capture.ts'
import { readEvents } from '../../service/read-events.ts'
import { equip, withDirectory } from '../../service/temporary-service.ts'
import { sendDelta, sendDone, startEvents, withModelServer } from '../../support/model-server.ts'
import { startNginx } from './reverse-proxy.ts'

describe('the service behind nginx, as docs/guides/host-the-service/nginx.conf configures it', () => {
  it('streams without delay, notices clients that disconnect, shows the public URL, and refuses plain HTTP', () => {
    let finish = () => {}
    let canceled = 0
    return withModelServer(
      (response) => {
        startEvents(response)
        sendDelta(response, 'first')
        response.once('close', () => {
          canceled += response.writableFinished ? 0 : 1
        })
        finish = () => {
          sendDelta(response, ' second', 'stop')
          sendDone(response)
        }
      },
      (modelServer) =>
        withDirectory(async (directory) => {
          const options = { behindProxy: true, modelServer: { url: modelServer.url } }
          const service = equip(await startService({ dataDir: join(directory, 'data'), ...options }))
          const proxy = await startNginx(directory, [service.url])
          const { url, dispatcher } = proxy
          const leaving = new AbortController()
          const open = (signal?: AbortSignal) =>
            fetch(`${url}/api/chat/send`, {
              dispatcher,
              method: 'POST',
              headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' },
              body: JSON.stringify({ message: 'x', model: 'm', stream: true }),
              ...(signal && { signal }),
            }) as unknown as Promise<Response>
          try {
            const page = await (
              await fetch(url, { dispatcher, headers: { 'x-forwarded-host': 'evil.example' } })
            ).text()
            expect(page).to.include(`--base-url ${url}<`)
            const events = readEvents(await open())
            // The model has sent nothing more yet, so nginx did not buffer this event.
            expect((await events.next()).value).to.deep.include({ event: 'delta' })
            finish()
            await events.next()
            expect((await events.next()).value).to.deep.include({ event: 'done' })
            const left = readEvents(await open(leaving.signal))
            await left.next()
            leaving.abort()
            for (let tries = 0; tries < 100 && canceled === 0; tries++) await pause(20)
            expect(canceled).to.equal(1)
            const large = await fetch(`${url}/api/chat/send`, {
              dispatcher,
              method: 'POST',
              headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' },
              body: JSON.stringify({ message: 'x'.repeat(4_500_000) }),
            })
            expect(large.status).to.equal(413)
            const plain = new Client({ baseUrl: url.replace('https', 'http') })
            expect(await failureOf(plain.settings.get())).to.include({
              kind: 'tls',
              message: `Cannot reach ${url.replace('https', 'http')}: the server speaks only TLS`,
            })
            await plain.close()
          } finally {
            await proxy.close()
            await service.close()
          }
        }),
    )
  })
})
