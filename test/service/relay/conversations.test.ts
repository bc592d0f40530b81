import { expect } from 'chai'
import { createId } from '../../../src/service/domain/identifiers.ts'
import { openStore } from '../../../src/service/store/open-store.ts'
import { closing } from '../../support/lifetime.ts'
import { sendJson } from '../../support/model-server.ts'
import { modelOn, onEachTransport, type TemporaryService } from '../temporary-service.ts'

/** Replies with the number of messages received, after a varying delay. */
const counts = (response: import('node:http').ServerResponse, { body }: { body: string }) => {
  const { messages } = JSON.parse(body)
  const answer = { choices: [{ message: { content: `to ${messages.at(-1).content}: ${messages.length}` } }] }
  setTimeout(sendJson, (messages.length * 7) % 20, response, answer)
}

async function fill({ place }: TemporaryService, contextId: string, contents: string[]): Promise<void> {
  await using store = closing(await openStore(place))
  const rows = contents.map((content, index) => ({
    id: createId('msg'),
    context_id: contextId,
    user_id: 'usr_admin',
    role: index % 2 === 0 ? ('user' as const) : ('assistant' as const),
    content,
    incomplete: 0,
    model: null,
    finish_reason: null,
    created_at: new Date().toISOString(),
  }))
  for (let at = 0; at < rows.length; at += 500)
    await store.db
      .insertInto('messages')
      .values(rows.slice(at, at + 500))
      .execute()
}

onEachTransport('a conversation', (withService) => {
  const withModel = modelOn(withService)

  it('of 10,000 messages is sent completely, and continues', () =>
    withModel(counts, async ({ requests, ...service }) => {
      const { body: first } = await service.call('POST', '/api/chat/send', { message: 'one' })
      await fill(
        service,
        first.context_id,
        Array.from({ length: 9_998 }, (_, index) => `message ${index}`),
      )
      const asked = { message: 'last', context_id: first.context_id }
      const { status, body } = await service.call('POST', '/api/chat/send', asked)
      expect(status).to.equal(200)
      expect(body.response).to.equal('to last: 10001')
      const sent = JSON.parse(requests.at(-1)?.body ?? '').messages
      expect(sent[2]).to.deep.equal({ role: 'user', content: 'message 0' })
    }))

  it('that would fill the memory is refused, whole or streamed, and can still be read', () =>
    withModel(counts, async ({ requests, ...service }) => {
      const { body: first } = await service.call('POST', '/api/chat/send', { message: 'one' })
      await fill(service, first.context_id, Array(3).fill('ü'.repeat(700_000)))
      const before = requests.length
      for (const stream of [false, true]) {
        const asked = { message: 'last', context_id: first.context_id, stream }
        const { status, body } = await service.call('POST', '/api/chat/send', asked)
        expect(status).to.equal(400)
        expect(body.error.code).to.equal('context_too_long')
      }
      expect(requests.length).to.equal(before)
      const path = `/api/chat/history?limit=1&context_id=${first.context_id}`
      expect((await service.call('GET', path)).status).to.equal(200)
    }))

  it('keeps each message next to its reply, however many are sent at the same time', () =>
    withModel(counts, async ({ call }) => {
      const { body: first } = await call('POST', '/api/chat/send', { message: 'one' })
      const { context_id } = first
      const sends = Array.from({ length: 20 }, (_, index) =>
        call('POST', '/api/chat/send', { message: `number ${index}`, context_id }),
      )
      for (const { status } of await Promise.all(sends)) expect(status).to.equal(200)
      const { body } = await call('GET', `/api/chat/history?limit=100&context_id=${context_id}`)
      expect(body.messages).to.have.length(42)
      for (let at = 0; at < 42; at += 2) {
        const [message, answer] = body.messages.slice(at, at + 2)
        expect(message.role).to.equal('user')
        expect(answer.content).to.include(`to ${message.content}: `)
      }
    }))

  it('sends a message again whose reply had no text, together with the next one', () => {
    const replies = [
      { content: null, reasoning_content: 'Hm' },
      { content: '' },
      { content: 'Yes' },
      { content: 'So' },
    ]
    return withModel(
      (response) => sendJson(response, { choices: [{ message: replies.shift() }] }),
      async ({ call, requests }) => {
        const { body } = await call('POST', '/api/chat/send', { message: 'Why?' })
        for (const message of ['Continue', 'Please', 'And?'])
          await call('POST', '/api/chat/send', { message, context_id: body.context_id })
        const sent = requests.flatMap(({ method, body }) =>
          method === 'POST' ? [JSON.parse(body).messages] : [],
        )
        const question = { role: 'user', content: 'Why?\n\nContinue\n\nPlease' }
        expect(sent.slice(1)).to.deep.equal([
          [{ role: 'user', content: 'Why?\n\nContinue' }],
          [question],
          [question, { role: 'assistant', content: 'Yes' }, { role: 'user', content: 'And?' }],
        ])
      },
    )
  })
})
