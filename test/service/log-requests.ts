import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { startService } from '../../src/service/start-service.ts'
import { sendDelta, sendDone, sendJson, startEvents, withModelServer } from '../support/model-server.ts'
import { caller, equip } from './temporary-service.ts'

/** Runs in a separate process, so that its stderr contains the log of the service and nothing else. */
const [directory = ''] = process.argv.slice(2)

await withModelServer(
  (response, { path, body }) => {
    if (JSON.parse(body).stream) {
      startEvents(response)
      sendDelta(response, `canary from ${path}`, 'stop')
      sendDone(response)
    } else {
      sendJson(response, { error: { message: 'canary in what was written' } }, 500)
    }
  },
  async ({ url }) => {
    const service = equip(
      await startService({
        dataDir: directory,
        modelServer: { url, key: 'sk-canary' },
        log: { level: 'trace' },
      }),
    )
    const { call, key } = service
    await call('POST', '/v1/users', { email: 'canary@example.com', password: 'canary canary' })
    await call('POST', '/api/chat/send', { message: 'canary', stream: true })
    await call('GET', '/api/chat/history?before=canary')
    await call('POST', '/v1/users', '{"password":"canary",}')
    await caller(service.url, 'ck_canary')('GET', '/v1/settings')
    await call('POST', '/v1/chat/completions', { messages: [{ role: 'user', content: 'canary' }] })
    await call('GET', '/v1/users/%zz?x=canary')
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
    socket.write(`GET /canary HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`)
    await text(socket)
    await service.close()
    process.stdout.write(JSON.stringify({ key }))
  },
)
