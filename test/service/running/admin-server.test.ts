import { expect } from 'chai'
import { hintOf } from '../../../src/cli/errors/hints.ts'
import { apiErrorCodes } from '../../../src/service/api-error.ts'
import { startService } from '../../../src/service/start-service.ts'
import { openSqlite } from '../../../src/service/store/sqlite/open-sqlite.ts'
import { closing } from '../../support/lifetime.ts'
import { halfReply, sendDelta, sendDone, sendJson, startEvents } from '../../support/model-server.ts'
import { startScriptedServer } from '../../support/scripted-server.ts'
import { plantKey } from '../domain/plant-key.ts'
import { readEvents } from '../read-events.ts'
import {
  caller,
  equip,
  modelOn,
  type TemporaryService,
  type WithService,
  withDirectory,
  withService,
} from '../temporary-service.ts'
import { sendBytes } from './raw-request.ts'

/** The value of one line of the metrics, or undefined if the line is missing. */
async function measure({ adminUrl }: Pick<TemporaryService, 'adminUrl'>, line: string) {
  const { text } = await caller(adminUrl ?? '', undefined)('GET', '/metrics')
  const found = text.split('\n').find((each) => each.startsWith(`${line} `))
  return found === undefined ? undefined : Number(found.slice(line.length + 1))
}

/** Waits until a line has a value: a request is counted after its connection is done with it. */
async function expectMeasure(service: TemporaryService, line: string, value: number): Promise<void> {
  for (let tries = 0; tries < 50 && (await measure(service, line)) !== value; tries++)
    await new Promise((resolve) => setTimeout(resolve, 20))
  expect(await measure(service, line), line).to.equal(value)
}

const withAdmin: WithService = (use, options) =>
  withService(use, { admin: { port: 0 }, version: '1.2.3', ...options })
const withModel = modelOn(withAdmin)

describe('the admin port', () => {
  it('is on loopback, and is open only if it is requested', async () => {
    await withAdmin(async ({ adminUrl }) => {
      expect(adminUrl).to.match(/^http:\/\/127\.0\.0\.1:\d+$/)
    })
    await withService(({ adminUrl }) => {
      expect(adminUrl).to.equal(undefined)
    })
  })

  it('serves health, readiness, and metrics, and nothing else', () =>
    withAdmin(async ({ adminUrl = '' }) => {
      const call = caller(adminUrl, undefined)
      expect(await call('GET', '/healthz')).to.deep.include({ status: 200, body: { status: 'ok' } })
      expect(await call('GET', '/readyz')).to.deep.include({ status: 200, body: { status: 'ready' } })
      const metrics = await call('GET', '/metrics')
      expect(metrics.headers.get('content-type')).to.equal('text/plain; version=0.0.4; charset=utf-8')
      expect(metrics.text)
        .to.include('process_cpu_user_seconds_total')
        .and.include('nodejs_eventloop_lag_p99')
      expect(metrics.text).to.include('chatctl_build_info{version="1.2.3"} 1')
      expect(await call('HEAD', '/metrics')).to.include({ status: 200, text: '' })
      expect((await call('POST', '/metrics', {})).status).to.equal(405)
      for (const path of ['/', '/v1/settings', '/metrics/', '/%zz'])
        expect((await call('GET', path)).status, path).to.equal(404)
    }))

  it('rejects other host names than localhost, which prevents DNS rebinding', () =>
    withAdmin(async ({ adminUrl = '' }) => {
      const { port } = new URL(adminUrl)
      const ask = async (host: string) => {
        const { text } = await sendBytes(
          adminUrl,
          `GET /metrics HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
        )
        return text.slice(9, 12)
      }
      const two = 'localhost\r\nHost: evil.example'
      for (const host of [`evil.example:${port}`, 'evil.example', '127.0.0.1.evil.example', '', two])
        expect(await ask(host), host).to.equal('421')
      for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, 'LOCALHOST', '[::1]:1', '192.0.2.1:80'])
        expect(await ask(host), host).to.equal('200')
    }))

  it('is 1,000 above the service port, another if that is taken, and never replaces a chosen one', () =>
    withDirectory(async (directory) => {
      await using taken = await startScriptedServer()
      const port = Number(new URL(taken.url).port)
      const failure = await startService({ dataDir: directory, admin: { port } }).catch((error) => error)
      expect(failure).to.include({ kind: 'conflict' })
      expect(hintOf(failure)).to.include('--admin-port')
      const first = await startService({ dataDir: directory, admin: { port: undefined } })
      const above = Number(new URL(first.url).port) + 1000
      const [one, other] = [first.adminUrl, `http://127.0.0.1:${above}`]
      if (above <= 65_535) expect(one).to.equal(other)
      await first.close()
      await using blocked = closing(
        await startService({
          dataDir: directory,
          port: port - 1000,
          admin: { port: undefined },
        }),
      )
      expect(new URL(blocked.adminUrl ?? '').port).not.to.equal(String(port))
      expect((await fetch(`${blocked.adminUrl}/healthz`)).status).to.equal(200)
    }))

  it('reports that the service is stopping until running replies end, and then closes', () => {
    const { serve, finish } = halfReply()
    return withModel(serve, async ({ open, close, adminUrl = '' }) => {
      const events = readEvents(await open('POST', '/api/chat/send', { message: 'x', stream: true }))
      await events.next()
      const closed = close()
      const ready = await caller(adminUrl, undefined)('GET', '/readyz')
      expect(ready.status).to.equal(503)
      expect(ready.body.error.code).to.equal('service_stopping')
      finish()
      await events.next()
      await events.next()
      await closed
      expect(await fetch(`${adminUrl}/healthz`).catch((error) => error.cause.code)).to.equal('ECONNREFUSED')
    })
  })
})

describe('metrics', () => {
  it('have a counter at 0 for each error and each decision of the limiter, from the start', () =>
    withAdmin(async (service) => {
      for (const code of apiErrorCodes)
        expect(await measure(service, `chatctl_http_errors_total{code="${code}"}`), code).to.equal(0)
      for (const outcome of ['admitted', 'hour', 'minute'])
        expect(await measure(service, `chatctl_limiter_decisions_total{outcome="${outcome}"}`)).to.equal(0)
    }))

  it('count the decisions of the rate limiter', () =>
    withAdmin(async (service) => {
      const store = openSqlite(service.dataDir)
      const { key } = await plantKey(store.db, { hourly_limit: 2 })
      await store.close()
      for (let n = 0; n < 5; n++) await caller(service.url, key)('GET', '/v1/settings')
      await service.call('GET', '/v1/settings')
      await expectMeasure(service, 'chatctl_limiter_decisions_total{outcome="admitted"}', 2)
      await expectMeasure(service, 'chatctl_limiter_decisions_total{outcome="hour"}', 3)
    }))

  it('count requests by endpoint, method, and status class, never by path', () =>
    withAdmin(async (service) => {
      const { call, url } = service
      await call('GET', '/v1/settings')
      await call('GET', '/v1/users/usr_secret1')
      await call('GET', '/v1/users/usr_secret2')
      await call('GET', '/v1/users/%zz')
      await call('GET', '/somewhere/secret3')
      await caller(url, 'ck_secret4')('PATCH', '/v1/settings', {})
      const requests = 'chatctl_http_requests_total'
      await expectMeasure(service, `${requests}{endpoint="getSettings",method="GET",status="2xx"}`, 1)
      await expectMeasure(service, `${requests}{endpoint="getUser",method="GET",status="4xx"}`, 2)
      await expectMeasure(service, `${requests}{endpoint="unknown",method="GET",status="4xx"}`, 2)
      await expectMeasure(service, `${requests}{endpoint="updateSettings",method="PATCH",status="4xx"}`, 1)
      await expectMeasure(service, 'chatctl_http_request_duration_seconds_count{endpoint="getUser"}', 2)
      await expectMeasure(service, 'chatctl_http_errors_total{code="user_not_found"}', 2)
      await expectMeasure(service, 'chatctl_http_errors_total{code="unauthorized"}', 1)
      await expectMeasure(service, 'chatctl_http_requests_in_flight', 0)
      const { text } = await caller(service.adminUrl ?? '', undefined)('GET', '/metrics')
      expect(text).not.to.include('secret')
    }))

  it('count the requests to the model server, and its tokens', () =>
    withModel(
      (response, { body }) => {
        const { stream, messages } = JSON.parse(body)
        if (messages.at(-1).content === 'fail') return sendJson(response, { error: 'x' }, 500)
        if (!stream) {
          const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 }
          return sendJson(response, { usage, choices: [{ message: { content: 'Hi' } }] })
        }
        startEvents(response)
        sendDelta(response, 'Hi', 'stop')
        return sendDone(response)
      },
      async (service) => {
        const { call } = service
        await call('POST', '/api/chat/send', { message: 'x', model: 'm' })
        await call('POST', '/api/chat/send', { message: 'x', model: 'm', stream: true })
        await call('POST', '/api/chat/send', { message: 'fail', model: 'm' })
        const count = (operation: string, outcome: string) =>
          `chatctl_model_server_request_duration_seconds_count{operation="${operation}",outcome="${outcome}"}`
        await expectMeasure(service, count('completion', 'ok'), 1)
        await expectMeasure(service, count('completion', 'error'), 1)
        await expectMeasure(service, count('stream', 'ok'), 1)
        await expectMeasure(service, 'chatctl_model_server_first_piece_seconds_count', 1)
        await expectMeasure(service, 'chatctl_model_server_tokens_total{kind="prompt"}', 3)
        await expectMeasure(service, 'chatctl_model_server_tokens_total{kind="completion"}', 4)
      },
    ))

  it('count a stream that ends in an error event as an error', () => {
    const lines: object[] = []
    const stderr = { write: (line: string) => void lines.push(JSON.parse(line)) }
    return withModel(
      (response) => {
        startEvents(response)
        sendDelta(response, 'half')
        response.write('data: {"error":{"message":"out of memory"}}\n\n')
        response.end()
      },
      async (service) => {
        const sent = await service.call('POST', '/api/chat/send', { message: 'x', stream: true })
        expect(sent.status).to.equal(200)
        expect(sent.text).to.include('event: error').and.include('model_server_error')
        await expectMeasure(service, 'chatctl_http_errors_total{code="model_server_error"}', 1)
      },
      { log: { level: 'info', stderr } },
    ).then(() => {
      const request = lines.find((line) => 'path' in line && line.path === '/api/chat/send')
      expect(request).to.include({ status: 200, code: 'model_server_error' })
    })
  })

  it('ignore negative token counts of a model server, and the reply still arrives', () => {
    const usage = { prompt_tokens: -1, completion_tokens: -1, total_tokens: -2 }
    return withModel(
      (response, { body }) => {
        if (!JSON.parse(body).stream)
          return sendJson(response, { usage, choices: [{ message: { content: 'Hi' } }] })
        startEvents(response)
        sendDelta(response, 'Hi', 'stop')
        response.write(`data: ${JSON.stringify({ choices: [], usage })}\n\n`)
        return sendDone(response)
      },
      async ({ call }) => {
        const asked = { model: 'm', messages: [{ role: 'user', content: 'x' }] }
        const { status, body } = await call('POST', '/v1/chat/completions', asked)
        expect(status).to.equal(200)
        const none = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }
        expect(body.usage).to.deep.equal(none)
        const { text } = await call('POST', '/api/chat/send', { message: 'x', model: 'm', stream: true })
        expect(text.split('event: done')[1]).to.include(`"usage":${JSON.stringify(none)}`)
        expect(text).not.to.include('event: error')
      },
    )
  })

  it('include clients that left, their requests to the model server, and requests in flight', () =>
    withModel(
      (response) => {
        startEvents(response)
        sendDelta(response, 'half')
      },
      async (service) => {
        const leaving = new AbortController()
        const body = { message: 'x', model: 'm', stream: true }
        await readEvents(await service.open('POST', '/api/chat/send', body, leaving.signal)).next()
        await expectMeasure(service, 'chatctl_http_requests_in_flight', 1)
        leaving.abort()
        const aborted = 'endpoint="sendMessage",method="POST",status="aborted"'
        await expectMeasure(service, `chatctl_http_requests_total{${aborted}}`, 1)
        await expectMeasure(service, 'chatctl_http_requests_in_flight', 0)
        const labels = 'operation="stream",outcome="cancelled"'
        await expectMeasure(service, `chatctl_model_server_request_duration_seconds_count{${labels}}`, 1)
      },
    ))

  it('are separate for two services in one process', () =>
    withAdmin((one) =>
      withDirectory(async (directory) => {
        await using other = closing(equip(await startService({ dataDir: directory, admin: { port: 0 } })))
        await one.call('GET', '/v1/settings')
        const line = 'chatctl_http_requests_total{endpoint="getSettings",method="GET",status="2xx"}'
        await expectMeasure(one, line, 1)
        expect(await measure(other, line)).to.equal(undefined)
      }),
    ))
})
