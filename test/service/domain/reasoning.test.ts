import type { ServerResponse } from 'node:http'
import { expect } from 'chai'
import { Client } from '../../../src/client/client.ts'
import { closing } from '../../support/lifetime.ts'
import { sendDelta, sendDone, sendJson, startEvents } from '../../support/model-server.ts'
import { until } from '../../support/until.ts'
import { allEvents, readEvents } from '../read-events.ts'
import { modelOn, onEachTransport, withModel } from '../temporary-service.ts'

const messages = [{ role: 'user', content: 'Hi' }]

function sendReasoning(response: ServerResponse, text: string, field = 'reasoning_content'): void {
  const choices = [{ index: 0, delta: { content: null, [field]: text }, finish_reason: null }]
  response.write(`data: ${JSON.stringify({ model: 'm1-7b', choices })}\n\n`)
}

/** Thinks, and then replies. */
function think(response: ServerResponse): void {
  startEvents(response)
  sendReasoning(response, 'Let me')
  sendReasoning(response, ' see.', 'reasoning')
  sendDelta(response, 'Hello')
  sendDelta(response, ' you', 'stop')
  sendDone(response)
}

onEachTransport('a model that sends reasoning', (withService) => {
  const withModel = modelOn(withService)

  it('has it relayed in events named reasoning, before the reply', () =>
    withModel(think, async ({ open, call }) => {
      const events = await allEvents(await open('POST', '/api/chat/send', { message: 'Hi', stream: true }))
      const done = events.pop()
      const reasoning = events.filter(({ event }) => event === 'reasoning')
      expect(events.slice(0, reasoning.length)).to.deep.equal(reasoning)
      expect(reasoning.map(({ data }) => data.reasoning).join('')).to.equal('Let me see.')
      for (const { data } of reasoning) {
        expect(data).to.have.all.keys('id', 'context_id', 'created_at', 'model', 'reasoning')
        expect(data).to.include({ id: done?.data.id, model: done?.data.model })
      }
      expect(done?.data.response).to.equal('Hello you')
      expect(done?.data).not.to.have.property('reasoning')
      const { body } = await call('GET', '/api/chat/history')
      expect(body.messages[1]).to.have.all.keys('id', 'content', 'role', 'created_at', 'context_id', 'end')
      expect(JSON.stringify(body)).not.to.include('see.')
    }))

  it('has it relayed when it arrives, and the message is in the history from then on', () => {
    const { promise: isToReply, resolve: reply } = Promise.withResolvers<void>()
    return withModel(
      async (response) => {
        startEvents(response)
        sendReasoning(response, 'Hm')
        await isToReply
        sendDelta(response, 'Hello', 'stop')
        sendDone(response)
      },
      async ({ open, call }) => {
        const events = readEvents(await open('POST', '/api/chat/send', { message: 'Hi', stream: true }))
        const first = (await events.next()).value
        expect(first.data.reasoning).to.equal('Hm')
        const history = `/api/chat/history?context_id=${first.data.context_id}`
        const [sent, thinking] = (await call('GET', history)).body.messages
        expect(sent.content).to.equal('Hi')
        expect(thinking).to.include({ content: '', incomplete: true, id: first.data.id })
        reply()
        expect((await events.next()).value.data.delta).to.equal('Hello')
        expect((await events.next()).value.event).to.equal('done')
        expect((await call('GET', history)).body.messages[1]).not.to.have.property('incomplete')
      },
    )
  })

  it('does not receive an exchange that was stopped while it was thinking', () => {
    let asked = 0
    return withModel(
      (response) => {
        asked += 1
        if (asked !== 2) return think(response)
        startEvents(response)
        sendReasoning(response, 'Hm')
      },
      async ({ open, call, requests }) => {
        const send = (message: string, context_id?: string, signal?: AbortSignal) =>
          open('POST', '/api/chat/send', { message, stream: true, ...(context_id && { context_id }) }, signal)
        const [first] = await allEvents(await send('one'))
        const context = first?.data.context_id
        const stop = new AbortController()
        await readEvents(await send('two', context, stop.signal)).next()
        stop.abort()
        const history = async () =>
          (await call('GET', `/api/chat/history?context_id=${context}`)).body.messages
        await until(async () => (await history()).length === 4)
        await allEvents(await send('three', context))
        expect(JSON.parse(requests.at(-1)?.body ?? '').messages).to.deep.equal([
          { role: 'user', content: 'one' },
          { role: 'assistant', content: 'Hello you' },
          { role: 'user', content: 'three' },
        ])
        expect((await history()).map(({ content }: { content: string }) => content)).to.deep.equal([
          ...['one', 'Hello you', 'two', '', 'three', 'Hello you'],
        ])
      },
    )
  })
})

describe('reasoning of a model server', () => {
  it('is in the messages of a completion, and not in the response to a message', () =>
    withModel(
      (response) =>
        sendJson(response, {
          choices: [
            { message: { content: 'a', reasoning_content: 'Hm' } },
            { message: { content: null, reasoning: 'So' }, finish_reason: 'length' },
            { message: { content: 'b', reasoning: null } },
          ],
        }),
      async ({ call }) => {
        const { body } = await call('POST', '/v1/chat/completions', { messages })
        expect(body.choices.map(({ message }: { message: unknown }) => message)).to.deep.equal([
          { role: 'assistant', content: 'a', reasoning: 'Hm' },
          { role: 'assistant', content: '', reasoning: 'So' },
          { role: 'assistant', content: 'b' },
        ])
        const sent = await call('POST', '/api/chat/send', { message: 'Hi' })
        expect(sent.body).not.to.have.any.keys('reasoning', 'choices')
      },
    ))

  it('is relayed if the server does not stream', () =>
    withModel(
      (response) => sendJson(response, { choices: [{ message: { content: 'a', reasoning: 'Hm' } }] }),
      async ({ open }) => {
        const events = await allEvents(await open('POST', '/api/chat/send', { message: 'Hi', stream: true }))
        expect(events.map(({ event }) => event)).to.deep.equal(['reasoning', 'delta', 'done'])
      },
    ))

  it('counts toward the maximum length of a reply', () =>
    withModel(
      (response) => {
        startEvents(response)
        for (let part = 0; part < 3; part++) sendReasoning(response, 'x'.repeat(1024 * 1024))
        sendDelta(response, 'y'.repeat(1024 * 1024 + 1), 'stop')
        sendDone(response)
      },
      async ({ open }) => {
        const events = await allEvents(await open('POST', '/api/chat/send', { message: 'Hi', stream: true }))
        expect(events.at(-1)?.data.error.message).to.include('more than 4 Mi characters')
      },
    ))

  it('arrives in separate events in the client, also if the reply has no text', () =>
    withModel(
      (response) => {
        startEvents(response)
        sendReasoning(response, 'Hm')
        sendDelta(response, '', 'length')
        sendDone(response)
      },
      async (service) => {
        await using client = closing(new Client({ baseUrl: service.url, credential: service.key }))
        const events = []
        for await (const event of await client.chat.stream({ message: 'Hi' })) events.push(event)
        expect(events.map(({ type }) => type)).to.deep.equal(['start', 'reasoning', 'end'])
        expect(events[1]).to.deep.equal({ type: 'reasoning', text: 'Hm' })
        expect(events[2]).to.include({ text: '', complete: true, finishReason: 'length' })
        const { body } = await client.chat.collect({ message: 'Hi' })
        expect(body).to.include({ response: '', end: 'empty' }).and.not.to.have.property('reasoning')
      },
    ))
})
