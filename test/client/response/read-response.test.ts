import { expect } from 'chai'
import { hintOf } from '../../../src/cli/errors/hints.ts'
import { kindOfStatus } from '../../../src/client/response/error-response.ts'
import {
  answer,
  type Behavior,
  empty,
  failing,
  garbage,
  html502,
  json,
  noContent,
  webPage,
} from '../../support/scripted-server.ts'
import { failureOf, hurriedClock } from '../capture.ts'
import { scriptedClient } from '../scripted-client.ts'

describe('an HTTP response', () => {
  const { server, client, start } = scriptedClient(() => ({ clock: hurriedClock(), retries: 0 }))

  describe('with a documented body', () => {
    it('is returned with unknown fields, status, headers, and request ID', async () => {
      const body = {
        data: [{ id: 'm', created: 1, object: 'model', owned_by: 'o', extra: { a: [1] } }],
        more: null,
      }
      await start(json(200, body, { 'X-Request-Id': 'req_1' }))
      const got = await client.chat.models()
      expect(got.body).to.deep.equal(body)
      expect(got).to.include({ status: 200, requestId: 'req_1' })
      expect(got.headers['content-type']).to.equal('application/json')
      expect(got.faults).to.deep.equal([])
      expect(got).not.to.have.property('warning')
    })

    it('is returned with a list of the fields that have another type', async () => {
      const body = { data: [{ id: 7, created: 'x' }] }
      await start(json(200, body))
      const got = await client.chat.models()
      expect(got.body).to.deep.equal(body)
      expect(got.faults).to.deep.equal([
        { path: 'data.0.id', message: 'must be a string' },
        { path: 'data.0.created', message: 'must be a number' },
      ])
    })

    it('may have null fields and lack fields', async () => {
      await start(json(200, { app_name: null, theme: { mode: null } }))
      expect((await client.settings.get()).faults).to.deep.equal([])
    })

    it('may begin with a byte order mark and have any content type', async () => {
      await start(answer(200, { 'content-type': 'text/plain' }, '\ufeff{"app_name":"x"}'))
      expect((await client.settings.get()).body).to.deep.equal({ app_name: 'x' })
    })

    const useless: [string, Behavior, RegExp][] = [
      ['no JSON', garbage, /is not valid JSON/],
      ['a web page', webPage, /is text\/html, not JSON/],
      ['no body', empty, /has no body/],
      ['204', noContent, /has no body/],
      ['null', json(200, null), /not a JSON object/],
      ['a list', json(200, []), /not a JSON object/],
      ['a required field missing', json(200, { object: 'list' }), /does not contain "data"/],
      ['a required field that is null', json(200, { data: null }), /does not contain "data"/],
    ]
    const complete = () => client.chat.complete({ messages: [] })
    const wrong: [unknown, () => Promise<unknown>, RegExp][] = [
      [{ choices: [] }, complete, /contains no reply/],
      [{ choices: [{ message: null }] }, complete, /contains no reply/],
      [{ response: [] }, () => client.chat.send({ message: 'hi' }), /contains no reply/],
      [{ messages: 7 }, () => client.history.page(), /messages must be an array/],
    ]
    for (const [body, call, message] of wrong)
      it(`is unusable if a field has the wrong type: ${JSON.stringify(body)}`, async () => {
        await start(json(200, body))
        const failure = await failureOf(call())
        expect(failure.kind).to.equal('invalid_response')
        expect(failure.message).to.match(message)
      })

    it('is usable, and an empty reply, if a completion contains only reasoning', async () => {
      await start(json(200, { choices: [{ message: { content: null, reasoning_content: 'Hm' } }] }))
      expect((await complete()).faults).to.deep.equal([])
    })

    it('is a rejection if it contains an error', async () => {
      await start(json(200, { error: { message: 'Over quota' }, choices: [] }))
      expect(await failureOf(complete())).to.include({ kind: 'rejected', message: 'Over quota' })
    })

    it('is usable, with a warning, if it contains invalid UTF-8', async () => {
      await start(answer(200, {}, Buffer.from('{"id":"u1","name":"Ren\xe9"}', 'latin1')))
      expect((await client.users.get('u1')).warning).to.include('is not valid UTF-8')
    })

    for (const call of ['send', 'collect'] as const)
      it(`is refused by chat.${call} if it is longer than maxBodyMiB`, async () => {
        await start(json(200, { response: 'x'.repeat(2 * 1024 * 1024) }), { maxBodyMiB: 1 })
        const failure = await failureOf(client.chat[call]({ message: 'hi' }))
        expect(failure.kind).to.equal('invalid_response')
        expect(failure.message).to.equal(`The response from ${server.url} is longer than 1 MiB`)
      })

    for (const [what, behavior, message] of useless)
      it(`is unusable with ${what}`, async () => {
        await start(behavior)
        const failure = await failureOf(client.chat.models())
        expect(failure.kind).to.equal('invalid_response')
        expect(failure.message).to.match(message)
      })

    it('is reported with the requested URL if it is a web page', async () => {
      await start(webPage)
      const failure = await failureOf(client.chat.models())
      expect(failure.request?.url).to.equal(`${server.url}/v1/chat/models`)
      expect(hintOf(failure)).to.equal('The response is a web page. Check the base URL.')
    })

    it('is requested without a content coding', async () => {
      await start(json(200, {}))
      await client.settings.get()
      expect(server.requests[0]?.headers).to.include({
        'accept-encoding': 'identity',
        accept: 'application/json',
      })
    })
  })

  describe('with a body that is not documented', () => {
    for (const [what, behavior] of [
      ['nothing', empty],
      ['204', noContent],
    ] as const)
      it(`is a success with ${what}`, async () => {
        await start(behavior)
        const got = await client.settings.update({ app_name: 'x' })
        expect(got.body).to.equal(undefined)
        expect(got).not.to.have.property('warning')
      })

    it('is a success with a warning if the body is not JSON', async () => {
      await start(garbage)
      const got = await client.users.create({ name: 'n' })
      expect(got.body).to.equal(undefined)
      expect(got.warning).to.match(/not (valid )?JSON.*status 200/)
    })

    it('is returned with its Location', async () => {
      await start(answer(201, { location: '/v1/users/usr_9' }))
      expect(await client.users.create({ name: 'n' })).to.include({
        status: 201,
        location: '/v1/users/usr_9',
      })
    })

    it('may have any JSON body', async () => {
      await start(json(200, [1]))
      expect((await client.users.create({})).body).to.deep.equal([1])
    })
  })

  describe('with status 2xx and a body that reports a failure', () => {
    const denials: [string, unknown, string][] = [
      ['success: false', { success: false }, 'The request failed'],
      ['success: false with a message', { success: false, message: 'No such theme' }, 'No such theme'],
      ['the error body', { error: { code: 'quota', message: 'Too big' } }, 'Too big'],
    ]
    for (const [what, body, message] of denials)
      it(`is a failure: ${what}`, async () => {
        await start(json(200, body))
        expect(await failureOf(client.users.updateSettings({ theme: 'x' }))).to.include({
          kind: 'rejected',
          message,
        })
        expect((await failureOf(client.users.create({}))).kind).to.equal('rejected')
      })

    it('is a success with error: null', async () => {
      await start(json(200, { error: null, app_name: 'x' }))
      expect((await client.settings.get()).body).to.have.property('app_name', 'x')
    })
  })

  describe('with a status other than 2xx', () => {
    for (const [status, kind] of [
      [400, 'rejected'],
      [401, 'unauthorized'],
      [403, 'forbidden'],
      [404, 'not_found'],
      [409, 'conflict'],
      [418, 'rejected'],
      [422, 'rejected'],
      [429, 'rate_limited'],
      [500, 'server_error'],
      [503, 'server_error'],
      [599, 'server_error'],
    ] as const)
      it(`is a failure of kind ${kind} for ${status}`, () => expect(kindOfStatus(status)).to.equal(kind))

    it('is a failure with the message, code, and details of the service', async () => {
      const body = { error: { code: 'no_user', message: 'No such user', details: { id: 'x' } } }
      await start(json(404, body, { 'request-id': 'r-7' }))
      const failure = await failureOf(client.users.get('x'))
      expect(failure).to.include({ kind: 'not_found', message: 'No such user', code: 'no_user', status: 404 })
      expect(failure.details).to.deep.equal({ id: 'x' })
      expect(failure.request).to.deep.equal({ method: 'GET', url: `${server.url}/v1/users/x`, id: 'r-7' })
    })

    it('is reported with the requested URL if it is a 404 web page', async () => {
      await start(answer(404, { 'content-type': 'text/html; charset=utf-8' }, '<html>'))
      const failure = await failureOf(client.chat.models())
      expect(failure.request?.url).to.equal(`${server.url}/v1/chat/models`)
      expect(hintOf(failure)).to.include('The response is a web page.')
    })

    for (const [what, behavior] of [
      ['500', failing(500, 'internal', 'Oops')],
      ['502 of a gateway', html502],
    ] as const)
      it(`leaves the outcome of a POST or PATCH unknown: ${what}`, async () => {
        await start(behavior)
        for (const failure of [
          await failureOf(client.users.create({})),
          await failureOf(client.settings.update({})),
        ]) {
          expect(failure.kind).to.equal('server_error')
          expect(hintOf(failure)).to.match(/may have taken effect/)
        }
        expect(hintOf(await failureOf(client.settings.get()))).to.equal(undefined)
      })

    it('leaves no outcome unknown if the service says that it has stored nothing', async () => {
      await start(json(507, { error: { code: 'storage_full', message: 'Full', details: { stored: false } } }))
      for (const failing of [client.settings.update({}), client.chat.collect({ message: 'hi' })]) {
        const failure = await failureOf(failing)
        expect(failure).to.include({ kind: 'server_error', isOutcomeUnknown: false })
        expect(hintOf(failure)).to.equal('The service has stored nothing. You can send the request again.')
      }
    })

    it('leaves no outcome unknown with a 4xx', async () => {
      await start(failing(409, 'taken', 'Taken'))
      expect(hintOf(await failureOf(client.users.create({})))).to.equal(undefined)
    })

    it('reports no unknown outcome if the service could not reach its model server', async () => {
      await start(json(502, { error: { code: 'model_server_unreachable', message: 'No model' } }))
      const failure = await failureOf(client.chat.send({ message: 'x' }))
      expect(failure.isOutcomeUnknown).to.equal(false)
      expect(failure.hint).to.include('model server').and.not.include('may have taken effect')
    })

    const plain = { 'content-type': 'text/plain' }
    const shapes: [string, Behavior, string, string][] = [
      ['error as a string', json(400, { error: 'Broken' }), 'Broken', 'rejected'],
      ['a code and a message', json(400, { error: 'bad', message: 'Broken' }), 'Broken', 'bad'],
      ['a detail', json(400, { detail: 'Broken' }), 'Broken', 'rejected'],
      ['a list of errors', json(404, [{ error: { code: 'gone', message: 'Broken' } }]), 'Broken', 'gone'],
      ['details in a message', json(422, { message: { detail: [{ msg: 'Broken' }] } }), 'Broken', 'rejected'],
      ['a list of details', json(400, { detail: [{ loc: ['body'], msg: 'Broken' }] }), 'Broken', 'rejected'],
      ['a message at the top', json(400, { message: 'Broken', code: 40 }), 'Broken', '40'],
      [
        'null fields',
        json(400, { error: { code: null, message: null } }),
        'HTTP 400 Bad Request',
        'rejected',
      ],
      ['an empty object', json(400, {}), 'HTTP 400 Bad Request', 'rejected'],
      ['null', json(400, null), 'HTTP 400 Bad Request', 'rejected'],
      ['no body', answer(400), 'HTTP 400 Bad Request', 'rejected'],
      ['a web page', html502, 'HTTP 502 Bad Gateway', 'server_error'],
      [
        'text',
        answer(400, plain, ' no\r\n\u001b[31m way \n'),
        'HTTP 400 Bad Request: no [31m way',
        'rejected',
      ],
    ]
    for (const [what, behavior, message, code] of shapes)
      it(`is understood with ${what}`, async () => {
        await start(behavior)
        expect(await failureOf(client.users.get('x'))).to.include({ message, code })
      })

    it('counts by its status even if the body is truncated', async () => {
      await start((_, response, incoming) => {
        response.writeHead(404, { 'content-type': 'application/json', 'content-length': 500 })
        response.write('{"error":')
        setTimeout(() => incoming.socket.resetAndDestroy(), 20)
      })
      expect((await failureOf(client.users.get('x'))).kind).to.equal('not_found')
    })
  })

  it('that is not HTTP makes the service unreachable', async () => {
    await start((_request, _response, { socket }) => void socket.end('SSH-2.0-OpenSSH_9.9\r\n'))
    const failure = await failureOf(client.settings.get())
    expect(failure.kind).to.equal('unreachable')
    expect(failure.message).to.match(/^No response from .*: the response is not HTTP$/)
  })

  describe('to a raw request', () => {
    it('is returned whatever its status is', async () => {
      await start(json(403, { error: { message: 'No' } }))
      const got = await client.send({
        method: 'post',
        path: '/v1/odd?x=1',
        query: { y: 'z' },
        body: 'raw',
        headers: { 'Content-Type': 'text/plain' },
      })
      expect(got).to.include({
        status: 403,
        statusText: 'Forbidden',
        text: '{"error":{"message":"No"}}',
        cut: false,
      })
      expect(server.requests[0]).to.include({ method: 'POST', path: '/v1/odd?x=1&y=z', body: 'raw' })
      expect(server.requests[0]?.headers['content-type']).to.equal('text/plain')
    })

    it('is returned byte by byte as it arrived', async () => {
      const bytes = Uint8Array.from([0, 255, 1, 254])
      await start(answer(200, {}, bytes))
      expect([...(await client.send({ method: 'GET', path: '/' })).bytes]).to.deep.equal([...bytes])
    })
  })
})
