import { expect } from 'chai'
import { readRelayed } from '../../../src/service/replies/completion-stream.ts'
import { holdTimers } from '../../client/hold-timers.ts'
import { sendDelta, sendJson, startEvents, withModelServer } from '../../support/model-server.ts'
import { endings, relayedStreamOf, streamOf } from '../../support/reply-endings.ts'
import { until } from '../../support/until.ts'
import { allEvents } from '../read-events.ts'
import { type TemporaryService, withModel, withService } from '../temporary-service.ts'

/** In ms, as in src/service/replies/completion-stream.ts. */
const endTimeout = 5_000

/** Messages, each of which is the name of an ending that the model server sends. */
const withEndings = (use: (service: TemporaryService) => Promise<void>) =>
  withModelServer(
    (response, { body }) => {
      const { stream, messages } = JSON.parse(body)
      const ending = endings[messages.at(-1).content]
      if (!ending) return sendJson(response, {}, 500)
      if (!stream) return sendJson(response, ending.whole)
      startEvents(response)
      response.end(streamOf(ending))
    },
    ({ url }) => withService(use, { modelServer: { url } }),
  )

/** The end of the last reply of a conversation. */
const endInHistory = async (call: TemporaryService['call'], id: string) =>
  (await call('GET', `/api/chat/history?context_id=${id}`)).body.messages.at(-1).end

const openAi = '/openai/v1/chat/completions'
const ask = (name: string) => ({ model: 'm1', messages: [{ role: 'user', content: name }] })
const all = Object.entries(endings)

describe('the end of a reply of a model server', () => {
  const held = holdTimers(endTimeout)

  it('is in the last event of a streamed message, after all of its text', () =>
    withEndings(async ({ open, call }) => {
      for (const [name, { text, reasoning = '', end, tools, words }] of all) {
        const events = await allEvents(await open('POST', '/api/chat/send', { message: name, stream: true }))
        const { event, data } = events.at(-1) ?? {}
        const parts = (field: string) => events.map(({ data }) => data[field] ?? '').join('')
        expect([parts('delta'), parts('reasoning')], name).to.deep.equal([text, reasoning])
        if (words === undefined && end !== 'truncated')
          expect(
            [event, data.response, data.end, data.tools, await endInHistory(call, data.context_id)],
            name,
          ).to.deep.equal(['done', text, end, tools, end])
        else {
          expect([event, data.error.code], name).to.deep.equal(['error', 'model_server_error'])
          expect(data.error.message, name).to.include(words ?? '')
        }
      }
    }))

  it('is in the response to a message and to a completion that are not streamed', () =>
    withEndings(async ({ call }) => {
      for (const [name, { text, end, tools, words, whole }] of all) {
        if (!whole) continue
        const sent = await call('POST', '/api/chat/send', { message: name })
        const { messages } = ask(name)
        const completed = await call('POST', '/v1/chat/completions', { messages })
        if (words === undefined) {
          expect(sent.body, name).to.deep.include({
            response: text,
            end,
            model: 'm1',
            ...(tools && { tools }),
          })
          expect(completed.body.choices[0], name).to.deep.include({ end, ...(tools && { tools }) })
          expect(completed.body.choices[0].message.content, name).to.equal(text)
          expect(await endInHistory(call, sent.body.context_id), name).to.equal(end)
        } else
          for (const { status, body } of [sent, completed]) {
            expect([status, body.error.code], name).to.deep.equal([502, 'model_server_error'])
            expect(body.error.message, name).to.include(words)
          }
      }
    }))

  it('is passed on to an OpenAI client: every chunk, or an error after the last one', () =>
    withEndings(async ({ call }) => {
      for (const [name, ending] of all) {
        const { end, words, whole } = ending
        const { text } = await call('POST', openAi, { ...ask(name), stream: true })
        if (words === undefined && end !== 'truncated') expect(text, name).to.equal(relayedStreamOf(ending))
        else
          expect(text, name)
            .to.match(/data: \{"error":.*\n\n$/)
            .and.include(words ?? 'model_server_error')
        if (!whole) continue
        const { status, body } = await call('POST', openAi, ask(name))
        if (words === undefined) expect(body, name).to.deep.equal(JSON.parse(JSON.stringify(whole)))
        else expect([status, body.error.message.includes(words)], name).to.deep.equal([502, true])
      }
    }))

  for (const type of [undefined, 'text/plain; charset=utf-8'])
    it(`is read from events with the content type ${type}, in any pieces`, () => {
      const ending = endings['a reason in each chunk'] as (typeof endings)[string]
      return withModel(
        async (response) => {
          if (type) response.setHeader('content-type', type)
          for (const piece of `\n${streamOf(ending)}`.match(/[\s\S]{1,3}/g) ?? []) {
            response.write(piece)
            await new Promise(setImmediate)
          }
          response.end()
        },
        async ({ open, call }) => {
          const sent = await open('POST', '/api/chat/send', { message: 'Hi', stream: true })
          expect((await allEvents(sent)).at(-1)?.data).to.include({
            response: 'one two',
            end: 'complete',
          })
          const { text } = await call('POST', openAi, { ...ask('Hi'), stream: true })
          expect(text).to.equal(relayedStreamOf(ending))
        },
      )
    })

  it('is read from JSON lines, too, and passed on as events', () =>
    withModel(
      (response) => {
        response.setHeader('content-type', 'application/x-ndjson')
        const chunks = endings['a reason in each chunk']?.chunks ?? []
        response.end(chunks.map((one) => `${JSON.stringify(one)}\n`).join(''))
      },
      async ({ open, call }) => {
        const events = await allEvents(await open('POST', '/api/chat/send', { message: 'Hi', stream: true }))
        expect(events.at(-1)?.data).to.include({ response: 'one two', end: 'complete' })
        const { text } = await call('POST', openAi, { ...ask('Hi'), stream: true })
        expect(text).to.equal(relayedStreamOf(endings['a reason in each chunk'] as (typeof endings)[string]))
      },
    ))

  it('is not waited for while a client takes a part', async () => {
    const chunks = endings['a reason in each chunk']?.chunks ?? []
    const pieces = chunks.map((one) => Buffer.from(`data: ${JSON.stringify(one)}\n\n`))
    const headers = { 'content-type': 'text/event-stream' }
    const body = { headers, read: async () => pieces.shift(), cancel: () => {} }
    let parts = 0
    for await (const _ of readRelayed(body, { model: 'm1', messages: [] }, [])) {
      expect(held.pending).to.equal(0)
      parts++
    }
    expect(parts).to.equal(chunks.length)
  })

  it('is waited for as long as bytes arrive, also after a reason', () => {
    const { promise: second, resolve: sendSecond } = Promise.withResolvers<void>()
    return withModel(
      async (response) => {
        startEvents(response)
        sendDelta(response, 'one ', 'tool_calls')
        await second
        sendDelta(response, 'two', 'stop')
      },
      async ({ open }) => {
        const response = await open('POST', '/api/chat/send', { message: 'Hi', stream: true })
        await until(() => held.pending === 1)
        sendSecond()
        await until(() => held.started === 2 && held.pending === 1)
        held.fire()
        const { event, data } = (await allEvents(response)).at(-1) ?? {}
        expect([event, data.response, data.end]).to.deep.equal(['done', 'one two', 'tool_calls'])
      },
    )
  })
})
