import { expect } from 'chai'
import * as fc from 'fast-check'
import { forAllTimesAsync } from '../../support/for-all.ts'
import { onEachTransport, type TemporaryService } from '../temporary-service.ts'

async function readBackwards(
  call: TemporaryService['call'],
  limit: number,
  context?: string,
): Promise<string[]> {
  const ids: string[] = []
  let before = ''
  for (;;) {
    const query = new URLSearchParams({ limit: String(limit) })
    if (before) query.set('before', before)
    if (context) query.set('context_id', context)
    const { status, body, text } = await call('GET', `/api/chat/history?${query}`)
    expect(status, text).to.equal(200)
    expect(body.messages.length).to.be.at.most(limit)
    ids.unshift(...body.messages.map(({ id }: { id: string }) => id))
    if (!body.has_more) return ids
    expect(body.messages).to.have.length(limit)
    before = body.messages[0].id
  }
}

onEachTransport('the history of the embedded service', (withService) => {
  it('is read backwards to its beginning, each message once and in order, with any page size', () =>
    withService(async ({ call }) => {
      const contexts: string[] = []
      const sent: { id: string; context: string }[] = []
      for (let index = 0; index < 24; index++) {
        const context_id = contexts.length < 3 ? undefined : contexts[index % 3]
        const { body } = await call('POST', '/api/chat/send', { message: `message ${index}`, context_id })
        if (context_id === undefined) contexts.push(body.context_id)
        sent.push({ id: body.id, context: body.context_id })
      }
      const all = await readBackwards(call, 100)
      expect(all).to.have.length(48)
      // The id in the response to a send is that of the assistant's message.
      expect(all.filter((_, index) => index % 2 === 1)).to.deep.equal(sent.map(({ id }) => id))
      await forAllTimesAsync(
        0.4,
        fc.integer({ min: 1, max: 100 }),
        fc.option(fc.constantFrom(...contexts), { nil: undefined }),
        async (limit, context) => {
          const ids = await readBackwards(call, limit, context)
          const answers = ids.filter((_, index) => index % 2 === 1)
          const expected = sent.filter((one) => context === undefined || one.context === context)
          expect(answers).to.deep.equal(expected.map(({ id }) => id))
          expect(new Set(ids).size).to.equal(expected.length * 2)
        },
      )
    }))

  it('has the oldest message of a page first, and the user before the assistant', () =>
    withService(async ({ call }) => {
      const { body: first } = await call('POST', '/api/chat/send', { message: 'one' })
      await call('POST', '/api/chat/send', { message: 'two', context_id: first.context_id })
      const { body } = await call('GET', `/api/chat/history?context_id=${first.context_id}&limit=3`)
      expect(body.has_more).to.equal(true)
      expect(body.messages.map(({ role }: { role: string }) => role)).to.deep.equal([
        'assistant',
        'user',
        'assistant',
      ])
      expect(body.messages[1].content).to.equal('two')
      expect(Object.keys(body.messages[1])).to.have.members([
        'id',
        'content',
        'role',
        'created_at',
        'context_id',
      ])
    }))

  it('is empty on a new service', () =>
    withService(async ({ call }) => {
      const { body } = await call('GET', '/api/chat/history')
      expect(body).to.deep.equal({ messages: [], has_more: false })
    }))

  it('rejects an unknown conversation with 404 and an unknown or foreign `before` with 400', () =>
    withService(async ({ call }) => {
      const { body: one } = await call('POST', '/api/chat/send', { message: 'one' })
      const { body: two } = await call('POST', '/api/chat/send', { message: 'two' })
      const unknown = await call('GET', '/api/chat/history?context_id=ctx_nope')
      expect(unknown.status).to.equal(404)
      expect(unknown.body.error.code).to.equal('context_not_found')
      for (const before of ['msg_nope', two.id, '']) {
        const path = `/api/chat/history?context_id=${one.context_id}&before=${before}`
        const answer = await call('GET', path)
        expect(answer.status, path).to.equal(400)
        expect(answer.body.error.details.faults[0].path).to.equal('before')
      }
    }))

  it('accepts only an integer from 1 to 100 as limit', () =>
    withService(async ({ call }) => {
      for (const limit of ['0', '101', '-1', '1.5', 'x', '', '1e2', ' 1', '9'.repeat(400)]) {
        const answer = await call('GET', `/api/chat/history?limit=${limit}`)
        expect(answer.status, limit).to.equal(400)
        expect(answer.body.error.details.faults[0].path).to.equal('limit')
      }
      expect((await call('GET', '/api/chat/history?limit=1&limit=2')).status).to.equal(400)
      expect((await call('GET', '/api/chat/history?limit=100')).status).to.equal(200)
    }))
})
