import { expect } from 'chai'
import { hintOf } from '../../src/cli/errors/hints.ts'
import { answer, failing, html502, json, limited } from '../support/fault-server.ts'
import { failureOf, hurriedClock } from './capture.ts'
import { scriptedClient } from './scripted-client.ts'

const type = { 'content-type': 'application/json' }
const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)

describe('a hostile response', () => {
  const { server, client, start } = scriptedClient(() => ({ clock: hurriedClock(), retries: 0 }))

  describe('with a field of the wrong type', () => {
    const complete = () => client.chat.complete({ messages: [] })
    const send = () => client.chat.send({ message: 'hi' })
    const models = () => client.chat.models()
    const page = () => client.history.page()
    const useless: [unknown, () => Promise<unknown>, RegExp][] = [
      [{ choices: [] }, complete, /choices must hold a text/],
      [{ choices: 'x' }, complete, /choices must be an array/],
      [{ choices: [null] }, complete, /choices must hold a text/],
      [{ choices: [{ message: { content: null } }] }, complete, /choices must hold a text/],
      [{ response: [] }, send, /response must be a string/],
      [{ data: 5 }, models, /data must be an array/],
      [{ messages: 7 }, page, /messages must be an array/],
    ]
    for (const [body, call, message] of useless) {
      it(`is unusable: ${JSON.stringify(body)}`, async () => {
        await start(json(200, body))
        const failure = await failureOf(call())
        expect(failure.kind).to.equal('invalid_response')
        expect(failure.message).to.match(message)
      })
    }

    it('is usable, and an empty reply, if a completion contains only reasoning', async () => {
      await start(json(200, { choices: [{ message: { content: null, reasoning_content: 'Hm' } }] }))
      expect((await complete()).faults).to.deep.equal([])
    })

    it('is a rejection if it contains an error', async () => {
      await start(json(200, { error: { message: 'Over quota' }, choices: [] }))
      expect(await failureOf(complete())).to.include({ kind: 'rejected', message: 'Over quota' })
    })

    it('is usable, with a fault, if only one element has the wrong type', async () => {
      await start([
        json(200, { data: [null, { id: 'm' }] }),
        json(200, { choices: [null, { message: { content: '' } }] }),
      ])
      expect((await client.chat.models()).faults).to.deep.equal([
        { path: 'data.0', message: 'must be an object' },
      ])
      expect((await client.chat.complete({})).faults).to.have.lengthOf(1)
    })
  })

  describe('that asks for an extremely long wait', () => {
    for (const headers of [
      { 'retry-after': '9999999999999' },
      { 'retry-after': '9'.repeat(400) },
      { 'x-ratelimit-reset': '9'.repeat(30) },
      { ratelimit: `"x";r=0;t=${'9'.repeat(20)}` },
    ] as Record<string, string>[]) {
      it(`is a rate limit: ${JSON.stringify(headers).slice(0, 50)}`, async () => {
        await start(limited(headers))
        const failure = await failureOf(client.settings.get())
        expect(failure).to.include({ kind: 'rate_limited', message: 'Rate limit exceeded' })
        expect(hintOf(failure)).to.equal('The service asks to wait for more than a year.')
      })
    }
  })

  describe('that is nested too deeply', () => {
    it('has the details of its error truncated', async () => {
      const body = `{"error":{"code":"bad","message":"No","details":{"shallow":[1],"deep":${nested(30_000)}}}}`
      await start(answer(400, type, body), { credential: 'sk-canary-77aa01' })
      const failure = await failureOf(client.settings.get())
      expect(failure).to.include({ kind: 'rejected', message: 'No', code: 'bad' })
      expect(failure.details).to.have.deep.property('shallow', [1])
      expect(JSON.stringify(failure.details)).to.include('nested too deep')
    })

    it('has the details of its error unchanged if they are nested 90 levels deep', async () => {
      const details = JSON.parse(nested(90))
      await start(json(400, { error: { message: 'No', details } }))
      expect(JSON.stringify((await failureOf(client.settings.get())).details)).to.equal(nested(90))
    })

    it('is unusable if its body is documented', async () => {
      await start(answer(200, type, `{"data":[],"more":${nested(30_000)}}`))
      const failure = await failureOf(client.chat.models())
      expect(failure).to.include({
        kind: 'invalid_response',
        message: 'The response is nested too deeply',
      })
    })

    it('is a success with a warning if its body is not documented', async () => {
      await start(answer(200, type, nested(30_000)))
      const got = await client.users.create({})
      expect(got.body).to.equal(undefined)
      expect(got.warning).to.match(/is nested too deeply\. Its status 200/)
    })

    it('is a rejection if it reports a failure', async () => {
      await start(answer(200, type, `{"success":false,"message":"No","details":${nested(30_000)}}`))
      expect(await failureOf(client.users.create({}))).to.include({ kind: 'rejected', message: 'No' })
    })
  })

  it('with invalid UTF-8 is a success with a warning', async () => {
    await start(answer(200, type, Buffer.from('{"id":"u1","name":"Ren\xe9"}', 'latin1')))
    const got = await client.users.get('u1')
    expect(got.warning).to.equal('The response is not valid UTF-8 (sequences replaced by U+FFFD: 1)')
  })

  it('that is not HTTP makes the service unreachable', async () => {
    await start((_request, _response, { socket }) => void socket.end('SSH-2.0-OpenSSH_9.9\r\n'))
    const failure = await failureOf(client.settings.get())
    expect(failure.kind).to.equal('unreachable')
    expect(failure.message).to.match(/^No response from .*: the response is not HTTP$/)
  })

  describe('with an error status', () => {
    for (const [what, behavior] of [
      ['500', failing(500, 'internal', 'Oops')],
      ['502 of a gateway', html502],
    ] as const) {
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
    }

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
  })

  for (const call of ['send', 'collect'] as const) {
    it(`is refused by chat.${call} if it is longer than maxBodyMiB`, async () => {
      await start(json(200, { response: 'x'.repeat(2 * 1024 * 1024) }), { maxBodyMiB: 1 })
      const failure = await failureOf(client.chat[call]({ message: 'hi' }))
      expect(failure.kind).to.equal('invalid_response')
      expect(failure.message).to.equal(`The response from ${server.url} is longer than 1 MiB`)
    })
  }
})
