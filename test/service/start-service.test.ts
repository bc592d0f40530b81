import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { Failure } from '../../src/contract/failure.ts'
import { startService } from '../../src/service/start-service.ts'
import { closing } from '../support/lifetime.ts'
import { sendDelta, sendDone, sendJson, startEvents, withModelServer } from '../support/model-server.ts'
import { startScriptedServer } from '../support/scripted-server.ts'
import { readEvents } from './read-events.ts'
import { caller, equip, withDirectory, withService } from './temporary-service.ts'

describe('the embedded service', () => {
  it('listens on loopback, reports whether it created the data, and keeps it', () =>
    withDirectory(async (directory) => {
      const first = equip(await startService({ dataDir: directory }))
      expect(first.created).to.equal(true)
      expect(first.url).to.match(/^http:\/\/127\.0\.0\.1:\d+$/)
      await first.call('PATCH', '/v1/settings', { app_name: 'Kept' })
      await first.close()
      expect(existsSync(join(directory, 'chatctl.db-wal'))).to.equal(false)
      await using second = closing(equip(await startService({ dataDir: directory })))
      expect(second.created).to.equal(false)
      expect((await second.call('GET', '/v1/settings')).body.app_name).to.equal('Kept')
    }))

  it('revokes the keys of its process when it closes', () =>
    withDirectory(async (directory) => {
      const first = equip(await startService({ dataDir: directory }))
      await first.close()
      await using second = closing(await startService({ dataDir: directory }))
      expect((await caller(second.url, first.key)('GET', '/v1/settings')).status).to.equal(401)
    }))

  it('reports that a port is in use, and leaves nothing open', () =>
    withDirectory(async (directory) => {
      await using taken = await startScriptedServer()
      const port = Number(new URL(taken.url).port)
      const failure = await startService({ dataDir: directory, port }).catch((error) => error)
      expect(failure).to.be.instanceOf(Failure)
      expect(failure.kind).to.equal('conflict')
      expect(failure.message).to.include(String(port))
      expect(existsSync(join(directory, 'chatctl.db-wal'))).to.equal(false)
    }))

  it('reports that the machine does not have the address', () =>
    withDirectory(async (directory) => {
      const failure = await startService({ dataDir: directory, host: '192.0.2.1', behindProxy: true }).catch(
        (error) => error,
      )
      expect(failure).to.be.instanceOf(Failure).and.include({ kind: 'config' })
    }))

  it('accepts no connection after it has closed, and closes only once', () =>
    withDirectory(async (directory) => {
      const service = await startService({ dataDir: directory })
      await Promise.all([service.close(), service.close()])
      expect(await fetch(service.url).catch((error) => error.cause.code)).to.equal('ECONNREFUSED')
    }))

  it('answers the requests on connections that the system has accepted before it closes', () =>
    withService(async ({ url, close }) => {
      const sockets = Array.from({ length: 20 }, () => connect(Number(new URL(url).port), '127.0.0.1'))
      await Promise.all(sockets.map((socket) => once(socket, 'connect')))
      const answers = sockets.map((socket) => {
        socket.write('GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
        return text(socket)
      })
      await close()
      for (const answer of await Promise.all(answers)) expect(answer).to.include('HTTP/1.1 200')
    }))

  it('interrupts a longer stream with an error event before it closes, and keeps what arrived', () =>
    withDirectory((directory) =>
      withModelServer(
        (response) => {
          startEvents(response)
          sendDelta(response, 'half')
        },
        async ({ url }) => {
          const service = equip(await startService({ dataDir: directory, modelServer: { url }, drain: 50 }))
          const response = await service.open('POST', '/api/chat/send', { message: 'x', stream: true })
          const events = readEvents(response)
          await events.next()
          const [last] = await Promise.all([events.next(), service.close()])
          expect(last.value.event).to.equal('error')
          expect(last.value.data.error.code).to.equal('service_stopping')
          await using again = closing(equip(await startService({ dataDir: directory })))
          const { body } = await again.call('GET', '/api/chat/history')
          expect(body.messages[1]).to.include({ content: 'half', incomplete: true })
        },
      ),
    ))

  it('logs the method, path, and status of requests, and no keys, passwords, or content', () =>
    withDirectory(async (dataDir) => {
      const written: string[] = []
      const log = { level: 'trace', stderr: { write: (line: string) => void written.push(line) } }
      const key = await withModelServer(
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
          const modelServer = { url, key: 'sk-canary' }
          const service = equip(await startService({ dataDir, modelServer, log }))
          const { call } = service
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
          return service.key
        },
      )
      const lines = written.map((line) => JSON.parse(line))
      const answered = lines.filter(({ msg }) => msg === 'response sent')
      expect(answered.map(({ method, path, status }) => [method, path, status])).to.deep.equal([
        ['POST', '/v1/users', 201],
        ['POST', '/api/chat/send', 200],
        ['GET', '/api/chat/history', 400],
        ['POST', '/v1/users', 400],
        ['GET', '/v1/settings', 401],
        ['POST', '/v1/chat/completions', 502],
        ['GET', '/v1/users/%zz', 400],
        [undefined, undefined, 431],
      ])
      for (const { request } of answered) expect(request).to.match(/^req_/)
      expect(lines.filter((line) => 'reqId' in line)).to.deep.equal([])
      expect(lines.filter(({ msg }) => /listening/i.test(msg))).to.have.length(1)
      for (const secret of [key, key.slice(3, 20), 'canary', 'uthorization', 'Bearer'])
        expect(written.join('')).not.to.include(secret)
    }))
})
