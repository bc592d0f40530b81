import { expect } from 'chai'
import { halfReply, sendDelta, sendJson, startEvents } from '../../support/model-server.ts'
import { until } from '../../support/until.ts'
import { allEvents, readEvents } from '../read-events.ts'
import { modelOn, onEachTransport, type TemporaryService } from '../temporary-service.ts'

const messages = [
  { role: 'system', content: 'Be brief' },
  { role: 'user', content: 'Hi' },
]
const accept = 'text/event-stream, application/json;q=.8'
const complete = ({ open }: TemporaryService, signal?: AbortSignal) =>
  open('POST', '/v1/chat/completions', { messages, temperature: 0.5 }, signal, { accept })

onEachTransport('a completion requested as a stream', (withService) => {
  const withModel = modelOn(withService)

  it('arrives in the events of a message, without a conversation, and is not stored', () => {
    const { serve, finish } = halfReply()
    return withModel(serve, async ({ requests, ...service }) => {
      const response = await complete(service)
      expect(response.headers.get('content-type')).to.match(/^text\/event-stream/)
      const events = readEvents(response)
      const first = (await events.next()).value
      expect(first).to.include({ event: 'delta' })
      expect(first.data).to.include({ delta: 'half', model: 'm1-7b' })
      finish()
      expect((await events.next()).value.data).to.include({ id: first.data.id, delta: ' and half' })
      const { event, data } = (await events.next()).value
      expect(event).to.equal('done')
      expect(data).to.include({ response: 'half and half', model: 'm1-7b', finish_reason: 'stop' })
      expect(data.id).to.match(/^chatcmpl_/)
      expect(data).not.to.have.property('context_id')
      expect(JSON.parse(requests.at(-1)?.body ?? '')).to.deep.include({
        messages,
        temperature: 0.5,
        max_tokens: 4096,
        stream: true,
      })
      expect((await service.call('GET', '/api/chat/history')).body.messages).to.deep.equal([])
    })
  })

  it('is one JSON body for every client that does not name the format', () =>
    withService(async ({ call }) => {
      for (const headers of [{}, { accept: '*/*' }, { accept: 'application/json' }] as Record<
        string,
        string
      >[]) {
        const { body } = await call('POST', '/v1/chat/completions', { messages }, headers)
        expect(body.object).to.equal('chat.completion')
      }
    }))

  it('fails with a status before its first part, and with an event after it', () => {
    let asked = 0
    return withModel(
      (response) => {
        if (asked++ === 0) return sendJson(response, { error: { message: 'out of memory' } }, 500)
        startEvents(response)
        sendDelta(response, 'half')
        response.end()
      },
      async (service) => {
        expect((await complete(service)).status).to.equal(502)
        const events = await allEvents(await complete(service))
        expect(events.map(({ event }) => event)).to.deep.equal(['delta', 'error'])
        expect(events[1]?.data.error.code).to.equal('model_server_error')
      },
    )
  })

  it('is canceled if the client leaves', () => {
    let wasCanceled = false
    return withModel(
      (response) => {
        startEvents(response)
        sendDelta(response, 'half')
        response.once('close', () => {
          wasCanceled = true
        })
      },
      async (service) => {
        const stop = new AbortController()
        await readEvents(await complete(service, stop.signal)).next()
        stop.abort()
        await until(() => wasCanceled)
      },
    )
  })
})
