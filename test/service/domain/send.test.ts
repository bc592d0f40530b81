import { expect } from 'chai'
import { openStore } from '../../../src/service/store/open-store.ts'
import type { Database } from '../../../src/service/store/tables.ts'
import {
  halfReply,
  sendDelta,
  sendDone,
  sendJson,
  startEvents,
  withModelServer,
} from '../../support/model-server.ts'
import { SteppedClock } from '../../support/stepped-clock.ts'
import { until } from '../../support/until.ts'
import { allEvents, readEvents } from '../read-events.ts'
import { modelOn, onEachTransport, opener } from '../temporary-service.ts'
import { plantKey, plantUser } from './plant-key.ts'

onEachTransport('sending a message to the embedded service', (withService) => {
  const withModel = modelOn(withService)

  it('opens a conversation, and continues it with the whole conversation', () =>
    withModel(
      (response, { body }) => {
        const { messages } = JSON.parse(body)
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end(
          JSON.stringify({
            choices: [{ message: { role: 'assistant', content: `answer ${messages.length}` } }],
          }),
        )
      },
      async ({ call, requests }) => {
        const { body: first } = await call('POST', '/api/chat/send', { message: 'one' })
        const { body: second } = await call('POST', '/api/chat/send', {
          message: 'two',
          context_id: first.context_id,
        })
        expect(second).to.include({ context_id: first.context_id, response: 'answer 3' })
        const last = JSON.parse(requests.at(-1)?.body ?? '')
        expect(last).to.deep.equal({
          model: 'm1',
          max_tokens: 4096,
          messages: [
            { role: 'user', content: 'one' },
            { role: 'assistant', content: 'answer 1' },
            { role: 'user', content: 'two' },
          ],
          stream: false,
        })
      },
    ))

  it('keeps question and reply together, also by time, in messages that are sent at the same time', () => {
    const clock = new SteppedClock()
    const slow = Promise.withResolvers<void>()
    let received = 0
    return withModel(
      async (response, { body }) => {
        const { stream, messages } = JSON.parse(body)
        const { content } = messages.at(-1)
        received += 1
        if (content === 'slow') await slow.promise
        if (!stream) return sendJson(response, { choices: [{ message: { content: `to ${content}` } }] })
        startEvents(response)
        sendDelta(response, `to ${content}`, 'stop')
        return sendDone(response)
      },
      async ({ call }) => {
        const { context_id } = (await call('POST', '/api/chat/send', { message: 'first' })).body
        const send = (message: string, stream = false) => {
          clock.pass(1000)
          return call('POST', '/api/chat/send', { message, context_id, stream })
        }
        const late = [send('slow'), send('slow', true)]
        await until(() => received === 3)
        await send('quick')
        await send('brief', true)
        slow.resolve()
        const [plain] = await Promise.all(late)
        const { messages } = (await call('GET', `/api/chat/history?context_id=${context_id}`)).body
        type Message = { id: string; role: string; content: string; created_at: string }
        const contents = (all: Message[]) => all.map(({ content }) => content)
        expect(contents(messages).filter((_, index) => index % 2)).to.deep.equal(
          contents(messages).flatMap((content, index) => (index % 2 ? [] : [`to ${content}`])),
        )
        const byTime = messages.toSorted(
          (a: Message, b: Message) => a.created_at.localeCompare(b.created_at) || a.id.localeCompare(b.id),
        )
        expect(contents(byTime).filter((_, index) => index % 2)).to.deep.equal(
          contents(byTime).flatMap((content, index) => (index % 2 ? [] : [`to ${content}`])),
        )
        const stored = messages.find(({ id }: Message) => id === plain?.body.id)
        expect(stored.created_at).to.equal(plain?.body.created_at)
      },
      { clock },
    )
  })

  it('rejects an unknown conversation and stores nothing', () =>
    withService(async ({ call }) => {
      const answer = await call('POST', '/api/chat/send', { message: 'x', context_id: 'ctx_nope' })
      expect(answer.status).to.equal(404)
      expect(answer.body.error.code).to.equal('context_not_found')
      expect((await call('GET', '/api/chat/history')).body.messages).to.deep.equal([])
    }))

  it('keeps every character of a message', () =>
    withService(async ({ call }) => {
      const message = 'ü 漢字 👩‍👩‍👧 \u0001 "\\ \r\n\t\u2028 end'
      await call('POST', '/api/chat/send', { message })
      const { body } = await call('GET', '/api/chat/history')
      expect(body.messages[0].content).to.equal(message)
    }))

  it('rejects an empty, missing, or invalid message', () =>
    withService(async ({ call }) => {
      for (const body of [
        {},
        { message: '' },
        { message: ' \n' },
        { message: 5 },
        { message: null },
        { message: 'a\0b' },
        { message: '\ud800' },
      ]) {
        const answer = await call('POST', '/api/chat/send', body)
        expect(answer.status).to.equal(400)
        expect(answer.body.error.details.faults[0].path).to.equal('message')
      }
    }))

  it('streams a reply as delta events and one done event', () =>
    withService(async ({ open, call }) => {
      const response = await open('POST', '/api/chat/send', { message: 'hello', stream: true })
      expect(response.status).to.equal(200)
      expect(response.headers.get('content-type')).to.match(/^text\/event-stream/)
      expect(response.headers.get('x-request-id')).to.match(/^req_/)
      const events = await allEvents(response)
      const done = events.pop()
      expect(done?.event).to.equal('done')
      expect(done?.data).to.include({ model: 'test-program', finish_reason: 'stop' })
      expect(events.length).to.be.greaterThan(5)
      expect(events.every(({ event, data }) => event === 'delta' && data.id === done?.data.id)).to.equal(true)
      expect(events[0]?.data.context_id).to.equal(done?.data.context_id)
      expect(events.map(({ data }) => data.delta).join('')).to.equal(done?.data.response)
      const { body } = await call('GET', `/api/chat/history?context_id=${done?.data.context_id}`)
      expect(body.messages.map(({ content }: { content: string }) => content)).to.deep.equal([
        'hello',
        done?.data.response,
      ])
      expect(body.messages[1].id).to.equal(done?.data.id)
      expect(body.messages[1]).not.to.have.property('incomplete')
    }))

  it('sends each piece when it arrives, not at the end', () => {
    let release = () => {}
    return withModel(
      async (response) => {
        startEvents(response)
        sendDelta(response, 'first')
        await new Promise<void>((resolve) => {
          release = resolve
        })
        sendDelta(response, ' second', 'stop')
        sendDone(response)
      },
      async ({ open }) => {
        const events = readEvents(await open('POST', '/api/chat/send', { message: 'x', stream: true }))
        expect((await events.next()).value.data.delta).to.equal('first')
        release()
        expect((await events.next()).value.data.delta).to.equal(' second')
        const { event, data } = (await events.next()).value
        expect(event).to.equal('done')
        expect(data).to.include({ response: 'first second', model: 'm1-7b' })
      },
    )
  })

  it('cancels the model request if the client leaves, and stores the received part as incomplete', () => {
    let wasCanceled = false
    return withModel(
      (response) => {
        startEvents(response)
        sendDelta(response, 'half a reply')
        response.once('close', () => {
          wasCanceled = true
        })
      },
      async ({ open, call }) => {
        const client = new AbortController()
        const response = await open('POST', '/api/chat/send', { message: 'x', stream: true }, client.signal)
        const events = readEvents(response)
        const { data } = (await events.next()).value
        client.abort()
        await events.next().catch(() => {})
        await until(() => wasCanceled)
        const path = `/api/chat/history?context_id=${data.context_id}`
        await until(async () => (await call('GET', path)).body.messages[1].content === 'half a reply')
        const { body } = await call('GET', path)
        expect(body.messages[1]).to.include({ id: data.id, incomplete: true })
      },
    )
  })

  const revoking = (db: Database) =>
    db.updateTable('api_keys').set({ revoked_at: '2026-01-01T00:00:00.000Z' })
  const demoting = (db: Database) => db.updateTable('users').set({ role: 'none' })
  const ends: [string, string, (db: Database, id: string) => Promise<unknown>][] = [
    ['key is revoked', 'unauthorized', (db, id) => revoking(db).where('id', '=', id).execute()],
    ['user loses the permission', 'forbidden', (db) => demoting(db).where('id', '!=', 'usr_admin').execute()],
  ]
  for (const [what, code, change] of ends)
    it(`ends a running reply after its ${what}, but not after its key has expired`, () => {
      const { serve, finish } = halfReply()
      const clock = new SteppedClock()
      return withModel(
        serve,
        async ({ url, place }) => {
          const { db, close } = await openStore(place)
          const begin = async (fields: Parameters<typeof plantKey>[1]) => {
            const { id, key } = await plantKey(db, fields)
            const response = await opener(url, key)('POST', '/api/chat/send', {
              message: 'x',
              stream: true,
            })
            const events = readEvents(response)
            expect((await events.next()).value.data.delta).to.equal('half')
            return { id, next: async () => (await events.next()).value }
          }
          // The first one is also authenticated again first.
          const expired = await begin({ expires_at: new Date(clock.now() + 1).toISOString() })
          const ended = await begin({ user_id: (await plantUser(db)).id })
          clock.pass(1)
          await change(db, ended.id)
          const { event, data } = await ended.next()
          expect({ event, code: data.error.code }).to.deep.equal({ event: 'error', code })
          const stored = await db.selectFrom('messages').select(['content', 'incomplete']).execute()
          expect(stored.at(-1)).to.deep.equal({ content: 'half', incomplete: 1 })
          finish()
          expect((await expired.next()).data.delta).to.equal(' and half')
          expect((await expired.next()).event).to.equal('done')
          await close()
        },
        { clock },
      )
    })

  it('cancels the model request if the client of a whole reply leaves, and stores nothing', () => {
    let arrived = false
    let wasCanceled = false
    return withModel(
      (response) => {
        arrived = true
        response.once('close', () => {
          wasCanceled = true
        })
      },
      async ({ open, call }) => {
        const client = new AbortController()
        const answer = open('POST', '/api/chat/send', { message: 'x' }, client.signal).catch(() => 'gone')
        await until(() => arrived)
        client.abort()
        expect(await answer).to.equal('gone')
        await until(() => wasCanceled)
        expect((await call('GET', '/api/chat/history')).body.messages).to.deep.equal([])
      },
    )
  })

  it('returns 502 if the model server fails before its first piece, and stores nothing', () =>
    withModel(
      (response) => response.writeHead(500).end('{"error":{"message":"out of memory"}}'),
      async ({ call }) => {
        const answer = await call('POST', '/api/chat/send', { message: 'x', stream: true })
        expect(answer.status).to.equal(502)
        expect(answer.body.error).to.deep.equal({
          code: 'model_server_error',
          message: 'The model server returned 500',
          details: { model_server_status: 500, model_server_message: 'out of memory', stored: false },
        })
        expect((await call('GET', '/api/chat/history')).body.messages).to.deep.equal([])
      },
    ))

  it('passes a refusal of the model server on as 400, without the address and the key of that server', () =>
    withModelServer(
      (response, { headers }) => {
        const message = `top_k is unknown to http://${headers.host}/v1 (key sk-model)`
        response.writeHead(400).end(JSON.stringify({ error: { message } }))
      },
      ({ url }) =>
        withService(
          async ({ call }) => {
            for (const stream of [true, false]) {
              const { status, body, text } = await call('POST', '/api/chat/send', { message: 'x', stream })
              expect(status).to.equal(400)
              expect(body.error.code).to.equal('invalid_request')
              expect(body.error.message).to.match(/rejected the request: top_k is unknown to http:\/\/…/)
              expect(text).not.to.contain(new URL(url).port).and.not.to.contain('sk-model')
            }
          },
          { modelServer: { url, key: 'sk-model' } },
        ),
    ))

  it('ends a stream with an error event if the model server fails in the middle', () =>
    withModel(
      (response) => {
        startEvents(response)
        sendDelta(response, 'half')
        setTimeout(() => response.destroy(), 20)
      },
      async ({ open, call }) => {
        const events = await allEvents(await open('POST', '/api/chat/send', { message: 'x', stream: true }))
        expect(events.map(({ event }) => event)).to.deep.equal(['delta', 'error'])
        expect(events[1]?.data.error.code).to.equal('model_server_error')
        const { body } = await call('GET', '/api/chat/history')
        expect(body.messages[1]).to.include({ content: 'half', incomplete: true })
      },
    ))
})
