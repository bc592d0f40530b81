import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { Readiness } from '../../../src/service/http/public/public-routes.ts'
import { openSqlite } from '../../../src/service/store/sqlite/open-sqlite.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { SteppedClock } from '../../support/stepped-clock.ts'
import { until } from '../../support/until.ts'
import { createTestServer } from '../start-server.ts'
import { caller, withDirectory, withService } from '../temporary-service.ts'
import { readResponses, sendBytes } from './raw-request.ts'

describe('a request without a key', () => {
  it('can read whether the service is alive and ready', () =>
    withService(async ({ url }) => {
      const stranger = caller(url, undefined)
      expect(await stranger('GET', '/healthz')).to.deep.include({ status: 200, body: { status: 'ok' } })
      const ready = await stranger('GET', '/readyz?x=1')
      expect(ready).to.deep.include({ status: 200, body: { status: 'ready' } })
      expect(ready.headers.get('cache-control')).to.equal('no-store')
      expect(ready.headers.get('x-request-id')).to.match(/^req_/)
      // An invalid key makes no difference here.
      expect((await caller(url, 'ck_wrong')('GET', '/readyz')).status).to.equal(200)
      const refused = await stranger('POST', '/readyz', {})
      expect(refused.status).to.equal(405)
      expect(refused.headers.get('allow')).to.equal('GET, HEAD')
    }))

  it('can read nothing else, and the service port has no metrics', () =>
    withService(
      async ({ url, call }) => {
        expect((await caller(url, undefined)('GET', '/metrics')).status).to.equal(404)
        expect((await call('GET', '/metrics')).status).to.equal(404)
        for (const path of [
          '//healthz',
          '/healthz/',
          '/v1/healthz',
          '/readyz/../v1/settings',
          '/v1/settings',
        ]) {
          expect((await caller(url, undefined)('GET', path)).status, path).to.be.oneOf([401, 404])
        }
      },
      { admin: { port: 0 } },
    ))

  it('can read why the service is not ready', () =>
    withDirectory(async (directory) => {
      const store = openSqlite(directory)
      const readiness = new Readiness(store.db, systemClock)
      const server = createTestServer({ store, dataDir: directory, readiness })
      const stranger = caller(await server.listen({ host: '127.0.0.1', port: 0 }), undefined)
      expect((await stranger('GET', '/readyz')).status).to.equal(200)
      readiness.stop()
      const stopping = await stranger('GET', '/readyz')
      expect(stopping.status).to.equal(503)
      expect(stopping.body.error.code).to.equal('service_stopping')
      expect((await stranger('GET', '/')).status).to.equal(503)
      expect((await stranger('GET', '/')).text).to.include('Not ready')
      expect((await stranger('GET', '/healthz')).status).to.equal(200)
      await server.close()
      await store.close()
      const gone = await new Readiness(store.db, systemClock).check()
      expect(gone?.code).to.equal('internal_error')
    }))

  it('can read it after 2 s if another program locks the database, and that the lock has ended', () =>
    withDirectory(async (directory) => {
      const store = openSqlite(directory)
      const other = new DatabaseSync(store.location)
      other.exec('begin immediate')
      const clock = new SteppedClock()
      const failures: unknown[] = []
      const readiness = new Readiness(store.db, clock, (error) => failures.push(error.code))
      for (let round = 0; round < 2; round++) {
        const locked = await clock.run(readiness.check())
        expect(locked?.code).to.equal('storage_unavailable')
        expect(clock.monotonic()).to.equal(2_000)
      }
      other.close()
      await until(async () => (await readiness.check()) === undefined)
      expect(failures).to.deep.equal(['storage_unavailable'])
      await store.close()
    }))
})

describe('the status page', () => {
  it('shows how to connect to the requested host, without scripts or external resources', () =>
    withService(
      async ({ url, key }) => {
        const { status, headers, text } = await caller(url, undefined)('GET', '/')
        expect(status).to.equal(200)
        expect(headers.get('content-type')).to.equal('text/html; charset=utf-8')
        expect(headers.get('cache-control')).to.equal('no-store')
        expect(headers.get('content-security-policy')).to.match(/^default-src 'none'; style-src 'sha256-/)
        expect(text).to.include(`chatctl auth login --profile team \\\n  --base-url ${url}</code>`)
        expect(text).to.include('chatctl 1.2.3').and.include('Ready')
        expect(text).not.to.match(/<script|javascript:|\bon\w+=|src=|href="(?!\/account")|@import|url\(/i)
        expect(text).not.to.include(key)
        for (const accept of ['application/json', 'image/png', '']) {
          expect((await caller(url, key)('GET', '/?a=b', undefined, { accept })).text).to.equal(text)
        }
        const head = await caller(url, undefined)('HEAD', '/')
        expect(head).to.include({ status: 200, text: '' })
        expect(head.headers.get('content-length')).to.equal(String(Buffer.byteLength(text)))
      },
      { version: '1.2.3' },
    ))

  it('repeats a valid Host header, and no other', () =>
    withService(async ({ url }) => {
      const { port } = new URL(url)
      const shown = async (host: string) => {
        const { text } = await sendBytes(url, `GET / HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`)
        const [answer] = readResponses(text)
        return /--base-url (.*)<\/code>/.exec(answer?.body ?? '')?.[1]
      }
      expect(await shown('chat.example')).to.equal('http://chat.example')
      expect(await shown('Chat.Example:8080')).to.equal('http://chat.example:8080')
      expect(await shown('[::1]:99')).to.equal('http://[::1]:99')
      for (const host of [
        'a"onload=x',
        '<b>',
        'a b',
        'a;rm -rf /',
        'a/b',
        'u@a',
        '$(id)',
        '`id`',
        'a:999999',
        '..',
        '%61',
        "a'b",
      ]) {
        expect(await shown(host), host).to.be.oneOf([`http://127.0.0.1:${port}`, 'http://..'])
      }
    }))

  it('prefers the public URL to what a proxy reports, and that to its own address', async () => {
    const forwarded = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'chat.example' }
    const shown = (options: object) =>
      withService(async ({ url }) => {
        const { text } = await caller(url, undefined)('GET', '/', undefined, forwarded)
        return /--base-url (.*)<\/code>/.exec(text)?.[1]?.replace(url, 'itself')
      }, options)
    expect(await shown({})).to.equal('itself')
    expect(await shown({ behindProxy: true })).to.equal('https://chat.example')
    expect(await shown({ behindProxy: true, publicUrl: 'https://other.example/' })).to.equal(
      'https://other.example',
    )
  })
})
