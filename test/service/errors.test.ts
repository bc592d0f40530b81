import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { errorBody } from '../../src/contract/resources/error-body.ts'
import { createTestProgram } from '../../src/service/replies/test-program.ts'
import { migrations, type SqlWords } from '../../src/service/store/migrations.ts'
import { openPostgres } from '../../src/service/store/postgres/open-postgres.ts'
import { openSqlite } from '../../src/service/store/sqlite/open-sqlite.ts'
import { toApiError } from '../../src/service/to-api-error.ts'
import { withServer } from './start-server.ts'
import { type Answer, caller, onEachEngine } from './temporary-service.ts'

function expectError(answer: Answer, status: number, code: string): void {
  expect(answer.status, answer.text).to.equal(status)
  expect(errorBody.parse(answer.body).error.code).to.equal(code)
  expect(answer.headers.get('x-request-id')).to.match(/^req_/)
}

onEachEngine('the embedded service', (withService) => {
  it('reports every fault of a request together', () =>
    withService(async ({ call }) => {
      const answer = await call('POST', '/v1/chat/completions', {
        model: 5,
        messages: [{ role: 'user' }, { role: 'robot', content: 'x', name: 'y' }],
        temperature: 3,
        max_tokens: 0,
        stream: true,
      })
      expectError(answer, 400, 'invalid_request')
      const paths = answer.body.error.details.faults.map(({ path }: { path: string }) => path)
      expect(paths).to.have.members([
        'model',
        'messages.0.content',
        'messages.1.role',
        'messages.1.name',
        'temperature',
        'max_tokens',
        'stream',
      ])
    }))

  it('rejects a body that is not JSON in UTF-8', () =>
    withService(async ({ call, url, key }) => {
      for (const body of ['{', '[1', 'x', '{"__proto__":{"a":1}}'])
        expectError(await call('POST', '/v1/users', body), 400, 'invalid_request')
      const response = await fetch(`${url}/v1/users`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: Buffer.from([0x22, 0xff, 0x22]),
      })
      expect(response.status).to.equal(400)
    }))

  it('rejects a charset other than UTF-8, whatever the bytes are', () =>
    withService(async ({ call }) => {
      const send = (type: string) =>
        call('POST', '/api/chat/send', { message: 'x' }, { 'content-type': type })
      for (const charset of ['latin1', 'UTF-16', '"iso-8859-1"', ' us-ascii'])
        expectError(await send(`application/json; charset=${charset}`), 415, 'unsupported_media_type')
      for (const charset of ['utf-8', 'UTF-8', '"utf-8"', 'utf8'])
        expect((await send(`application/json;charset=${charset}`)).status).to.equal(200)
    }))

  it('rejects U+0000 and lone surrogates, in values and in names', () =>
    withService(async ({ call }) => {
      const { body: user } = await call('POST', '/v1/users', {
        email: 'a@example.com',
        password: 'a password',
      })
      for (const bad of ['a\0b', 'a\ud800b']) {
        const text = JSON.stringify(bad)
        for (const [method, path, body, at] of [
          ['PATCH', '/v1/settings', `{"app_name":${text}}`, 'app_name'],
          ['PATCH', '/v1/settings', `{"theme":{"primary_color":${text}}}`, 'theme.primary_color'],
          ['POST', '/v1/settings/api', `{"version":${text}}`, 'version'],
          ['POST', '/v1/settings/api', `{"cors":{"allowed_methods":[${text}]}}`, 'cors.allowed_methods.0'],
          [
            'POST',
            '/v1/users',
            `{"email":"b@c.d","password":"a password","metadata":{"k":[${text}]}}`,
            'metadata.k.0',
          ],
          ['PATCH', `/v1/users/${user.id}`, `{"metadata":{"k":{${text}:1}}}`, 'metadata.k'],
          ['POST', `/v1/users/${user.id}/permissions`, `{"permissions":[${text}]}`, 'permissions.0'],
          ['POST', '/api/chat/send', `{"message":${text}}`, 'message'],
        ] as const) {
          const answer = await call(method, path, body)
          expectError(answer, 400, 'invalid_request')
          const paths = answer.body.error.details.faults.map((fault: { path: string }) => fault.path)
          expect(paths, `${method} ${path} ${body}`).to.include(at)
        }
      }
    }))

  it('does not repeat a malformed body in its response', () =>
    withService(async ({ call }) => {
      const answer = await call('POST', '/v1/users', '{"password":"hunter2hunter2",}')
      expect(answer.status).to.equal(400)
      expect(answer.text).not.to.include('hunter2')
    }))

  it('rejects a body that is missing, is not an object, or has another type', () =>
    withService(async ({ call }) => {
      for (const body of [[], 'null', '"x"', '5'])
        expectError(await call('PATCH', '/v1/settings', body), 400, 'invalid_request')
      expectError(await call('PATCH', '/v1/settings'), 400, 'invalid_request')
      // A change of nothing is valid.
      expect((await call('PATCH', '/v1/settings', {})).status).to.equal(200)
    }))

  it('rejects another content type with 415 and a body over 4 MiB with 413', () =>
    withService(async ({ call }) => {
      for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/xml']) {
        const answer = await call('POST', '/v1/users', 'a=b', { 'content-type': type })
        expectError(answer, 415, 'unsupported_media_type')
      }
      const large = JSON.stringify({ message: 'x'.repeat(4 * 1024 * 1024) })
      expectError(await call('POST', '/api/chat/send', large), 413, 'payload_too_large')
      const most = JSON.stringify({ message: 'x'.repeat(1024 * 1024) })
      expect((await call('POST', '/api/chat/send', most)).status).to.equal(200)
    }))

  it('rejects a compressed body with 415', () =>
    withService(async ({ url, key }) => {
      const response = await fetch(`${url}/v1/settings`, {
        method: 'PATCH',
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          'content-encoding': 'gzip',
        },
        body: gzipSync('{"app_name":"Small"}'),
      })
      expect(response.status).to.equal(415)
      expect(errorBody.parse(await response.json()).error.code).to.equal('unsupported_media_type')
    }))

  it('responds with 408 to a request that does not arrive in time', () =>
    withServer({ requestTimeout: 100 }, async ({ url, key }) => {
      const socket = connect(Number(new URL(url).port))
      socket.write(
        `PATCH /v1/settings HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n` +
          'content-type: application/json\r\ncontent-length: 100\r\n\r\n{',
      )
      expect(await text(socket))
        .to.match(/^HTTP\/1\.1 408 /)
        .and.include('request_timeout')
    }))

  it('rejects metadata that is too large', () =>
    withService(async ({ call }) => {
      const path = '/v1/users/usr_admin'
      for (const value of [`"${'x'.repeat(70_000)}"`, `"${'漢'.repeat(30_000)}"`]) {
        const answer = await call('PATCH', path, `{"metadata":{"a":${value}}}`)
        expectError(answer, 400, 'invalid_request')
        expect(answer.body.error.details.faults[0].path).to.equal('metadata')
      }
    }))

  it('rejects a number of more than 1,000 characters', () =>
    withService(async ({ call }) => {
      for (const [path, method] of [
        ['/v1/chat/completions', 'POST'],
        ['/v1/users/usr_admin', 'PATCH'],
      ] as const) {
        const answer = await call(method, path, `{"metadata":{"a":1${'0'.repeat(200_000)}1}}`)
        expectError(answer, 400, 'invalid_request')
        expect(answer.body.error.message).to.equal(
          'the body must not contain a number of more than 1,000 characters',
        )
      }
    }))

  it('rejects metadata that becomes too large step by step', () =>
    withService(async ({ call }) => {
      const path = '/v1/users/usr_admin'
      const part = 'x'.repeat(40_000)
      const { body: before } = await call('PATCH', path, { metadata: { a: part } })
      const answer = await call('PATCH', path, { name: 'Half', metadata: { b: part } })
      expectError(answer, 400, 'invalid_request')
      expect(answer.body.error.details.faults[0].path).to.equal('metadata')
      expect((await call('GET', path)).body).to.deep.equal(before)
      expect((await call('PATCH', path, { metadata: { a: null, b: part } })).status).to.equal(200)
    }))

  it('treats a long id like any other', () =>
    withService(async ({ call, url }) => {
      for (const length of [201, 10_000]) {
        const path = `/v1/users/${'x'.repeat(length)}`
        expectError(await call('GET', path), 404, 'user_not_found')
        expectError(await caller(url, undefined)('GET', path), 401, 'unauthorized')
      }
    }))

  it('responds with 404 to other paths and with 405 to other methods', () =>
    withService(async ({ call, url }) => {
      for (const path of ['/v1/nope', '/v1/settings/', '/v1/users', '/api', '/V1/settings']) {
        const answer = await call('GET', path)
        if (path === '/v1/users') {
          expectError(answer, 405, 'method_not_allowed')
          expect(answer.headers.get('allow')).to.equal('POST')
        } else {
          expectError(answer, 404, 'not_found')
        }
      }
      const answer = await call('DELETE', '/v1/users/usr_admin')
      expectError(answer, 405, 'method_not_allowed')
      expect(answer.headers.get('allow')).to.equal('GET, HEAD, PATCH')
      const stranger = caller(url, undefined)
      expectError(await stranger('GET', '/v1/nope'), 401, 'unauthorized')
      expectError(await stranger('DELETE', '/api/chat/send'), 401, 'unauthorized')
      expectError(await stranger('GET', '/%761/settings'), 401, 'unauthorized')
      expectError(await stranger('GET', '/elsewhere'), 404, 'not_found')
    }))

  it('responds to bytes that are not HTTP with an error body', () =>
    withService(async ({ url }) => {
      for (const [bytes, status] of [
        ['invalid\r\n\r\n', 400],
        [`GET /v1/settings HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`, 431],
      ] as const) {
        const socket = connect(Number(new URL(url).port), '127.0.0.1')
        socket.write(bytes)
        const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n')
        expect(head).to.include(`HTTP/1.1 ${status}`).and.include('x-request-id: req_')
        expect(errorBody.parse(JSON.parse(body)).error.message).to.be.a('string')
      }
    }))
})

onEachEngine('a service whose data a newer chatctl has migrated', (withService, engine) => {
  it('changes and reads nothing, and says why', () =>
    withService(async ({ call, place }) => {
      expect((await call('GET', '/v1/settings')).status).to.equal(200)
      const statements = ({ integer }: SqlWords) => `create table extra (id ${integer} primary key)`
      const wanted = [...migrations, { number: migrations.length + 1, name: 'next', statements }]
      const newer =
        engine === 'sqlite'
          ? openSqlite(place.dataDir, wanted, 'always')
          : await openPostgres(place.database ?? '', { wanted, migration: 'always' })
      const user = { email: 'late@example.com', password: 'a password' }
      let refused = await call('POST', '/v1/users', user)
      // On PostgreSQL, within a second.
      while (engine === 'postgres' && refused.status !== 503) refused = await call('POST', '/v1/users', user)
      expectError(refused, 503, 'storage_migrated')
      expect(refused.body.error.message).to.equal(
        `A newer chatctl has migrated the data (schema ${wanted.length}; this process supports ${migrations.length}): restart it with the newer version`,
      )
      expect(refused.body.error.details).to.deep.equal({ stored: false })
      expectError(await call('GET', '/api/chat/history'), 503, 'storage_migrated')
      expectError(await call('GET', '/readyz'), 503, 'storage_migrated')
      const page = await call('GET', '/sign-in')
      expect(page.status).to.equal(503)
      expect(page.text).to.include('A newer chatctl has migrated the data')
      const form = { 'content-type': 'application/x-www-form-urlencoded' }
      const token = await call('POST', '/oauth/token', 'grant_type=refresh_token&refresh_token=x', form)
      expect([token.status, token.body.error]).to.deep.equal([503, 'temporarily_unavailable'])
      expect((await call('GET', '/healthz')).status).to.equal(200)
      const users = newer.db.selectFrom('users').select('id')
      const count = (await users.execute()).length
      await call('POST', '/v1/users', { ...user, email: 'later@example.com' })
      expect((await users.execute()).length).to.equal(count)
      await newer.close()
    }))
})

describe('internal errors of the embedded service', () => {
  it('are reported as 500 without the cause', () => {
    const listModels = () => Promise.reject(new Error('the secret of the house'))
    return withServer({ replySource: { ...createTestProgram(), listModels } }, async ({ call }) => {
      const answer = await call('GET', '/v1/chat/models')
      expectError(answer, 500, 'internal_error')
      expect(answer.text).not.to.include('secret')
    })
  })

  it('are reported as 503 if another program has locked the database, without a wrong next step', () => {
    const busy = Object.assign(new Error('database is locked'), { code: 'ERR_SQLITE_ERROR', errcode: 5 })
    const { code, message } = toApiError(busy)
    expect([code, message]).to.deep.equal([
      'storage_busy',
      'The database of the service is locked by another program; the change was not stored',
    ])
  })

  it('are reported as 503 if the file of the database cannot be used', () => {
    // A directory that is read-only, a failed read, and a file that cannot be opened.
    for (const errcode of [1544, 266, 14])
      expect(toApiError(Object.assign(new Error(), { code: 'ERR_SQLITE_ERROR', errcode }))).to.include({
        code: 'storage_unavailable',
        message: 'The database of the service cannot be used; the log of the service has the cause',
      })
  })

  it('are reported as 507 if the disk is full; nothing is stored in part, and reading still works', () =>
    withServer({}, async ({ store, call }) => {
      // SQLite reports a file that has reached its maximum size exactly as it reports a full disk.
      const { page_count: pages } = store.connection.prepare('pragma page_count').get() as {
        page_count: number
      }
      store.connection.exec(`pragma max_page_count = ${pages}`)
      expectError(await call('GET', '/readyz'), 503, 'storage_full')
      const message = 'x'.repeat(100_000)
      const full = await call('POST', '/api/chat/send', { message })
      expectError(full, 507, 'storage_full')
      expect(full.body.error.details).to.deep.equal({ stored: false })
      expectError(await call('POST', '/api/chat/send', { message, stream: true }), 507, 'storage_full')
      expect((await call('GET', '/api/chat/history')).body.messages).to.deep.equal([])
      expect(store.connection.prepare('select count(*) as n from contexts').get()).to.include({ n: 0 })
      expect((await call('GET', '/v1/settings')).status).to.equal(200)
      store.connection.exec('pragma max_page_count = 100000')
      expect((await call('POST', '/api/chat/send', { message })).status).to.equal(200)
    }))
})
