import { expect } from 'chai'
import { sendDelta, sendDone, sendJson, startEvents } from '../../support/model-server.ts'
import { withModel, withService } from '../temporary-service.ts'

const messages = [{ role: 'user', content: 'x' }]

describe('chat limits', () => {
  it('cap the tokens of every kind of reply, and take effect immediately', () =>
    withModel(
      (response, { body }) => {
        if (JSON.parse(body).stream) {
          startEvents(response)
          sendDelta(response, 'x', 'stop')
          sendDone(response)
        } else {
          sendJson(response, { choices: [{ message: { role: 'assistant', content: 'x' } }] })
        }
      },
      async ({ call, requests }) => {
        const sent = async (path: string, body: object) => {
          expect((await call('POST', path, { model: 'm1', ...body })).status).to.equal(200)
          return JSON.parse(requests.at(-1)?.body ?? '').max_tokens
        }
        for (const most of [4096, 7]) {
          await call('PATCH', '/v1/settings', { limits: { max_tokens: most } })
          const complete = (max_tokens?: number) =>
            sent('/v1/chat/completions', { messages, ...(max_tokens && { max_tokens }) })
          expect(await complete()).to.equal(most)
          expect(await complete(5)).to.equal(5)
          expect(await complete(most)).to.equal(most)
          expect(await complete(most + 1)).to.equal(most)
          expect(await sent('/api/chat/send', { message: 'x' })).to.equal(most)
          expect(await sent('/api/chat/send', { message: 'x', stream: true })).to.equal(most)
        }
      },
    ))

  it('refuse chat that is turned off, and leave models and history readable', () =>
    withService(async ({ call }) => {
      const before = await call('POST', '/api/chat/send', { message: 'before' })
      await call('PATCH', '/v1/settings', { features: { chat: false } })
      for (const [path, body] of [
        ['/v1/chat/completions', { messages }],
        ['/api/chat/send', { message: 'x' }],
        ['/api/chat/send', { message: 'x', stream: true }],
        ['/api/chat/send', { message: 'x', context_id: before.body.context_id }],
      ] as const) {
        const { status, body: answer } = await call('POST', path, body)
        expect(status, path).to.equal(403)
        expect(answer.error.code).to.equal('feature_disabled')
        expect(answer.error.details).to.deep.equal({ feature: 'chat' })
        expect(answer.error.message).to.include('features.chat')
      }
      expect((await call('GET', '/v1/chat/models')).status).to.equal(200)
      expect((await call('GET', '/api/chat/history')).body.messages).to.have.length(2)
      await call('PATCH', '/v1/settings', { features: { chat: true } })
      expect((await call('POST', '/api/chat/send', { message: 'x' })).status).to.equal(200)
    }))
})
