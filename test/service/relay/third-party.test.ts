import { LLMock } from '@copilotkit/aimock'
import { expect } from 'chai'
import { connect, readStream } from '../openai/connect.ts'
import { allEvents } from '../read-events.ts'
import { type TemporaryService, withService } from '../temporary-service.ts'

const messages = [{ role: 'user' as const, content: 'hello there' }]

describe('a third-party model server (aimock)', () => {
  async function withMock<T>(use: (mock: LLMock, service: TemporaryService) => Promise<T>): Promise<T> {
    const mock = new LLMock({ port: 0, chunkSize: 4 })
    mock.onMessage('hello there', { content: 'General Kenobi! 漢字 👍' })
    await mock.start()
    try {
      return await withService((service) => use(mock, service), { modelServer: { url: `${mock.url}/v1` } })
    } finally {
      await mock.stop()
    }
  }

  it('returns completions', () =>
    withMock(async (_, { call }) => {
      const { status, body } = await call('POST', '/v1/chat/completions', { model: 'gpt-4o', messages })
      expect(status).to.equal(200)
      expect(body.choices).to.deep.equal([
        {
          index: 0,
          message: { role: 'assistant', content: 'General Kenobi! 漢字 👍' },
          finish_reason: 'stop',
        },
      ])
      expect(body.usage.total_tokens).to.equal(body.usage.prompt_tokens + body.usage.completion_tokens)
    }))

  it('streams, and counts the tokens of a stream because it is told to', () =>
    withMock(async (mock, { open }) => {
      const asked = { model: 'gpt-4o', message: 'hello there', stream: true }
      const events = await allEvents(await open('POST', '/api/chat/send', asked))
      const done = events.pop()
      expect(done?.event).to.equal('done')
      expect(done?.data.response).to.equal('General Kenobi! 漢字 👍')
      expect(events.map(({ data }) => data.delta).join('')).to.equal(done?.data.response)
      expect(done?.data.usage.completion_tokens).to.be.greaterThan(0)
      expect(mock.getRequests().at(-1)?.body).to.deep.include({ stream_options: { include_usage: true } })
    }))

  it('streams to the SDK of OpenAI', () =>
    withMock(async (_, service) => {
      const request = { model: 'gpt-4o', messages, stream: true as const }
      const { text, error } = await readStream(connect(service).chat.completions.create(request))
      expect([text, error]).to.deep.equal(['General Kenobi! 漢字 👍', undefined])
    }))
})
