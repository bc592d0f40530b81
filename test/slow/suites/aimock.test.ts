import { LLMock } from '@copilotkit/aimock'
import { expect } from 'chai'
import OpenAI from 'openai'
import { allEvents } from '../../service/read-events.ts'
import { withService } from '../../service/temporary-service.ts'
import { perTest } from '../../support/lifetime.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'

/** aimock by CopilotKit: a model server that is not part of this project. */
describe('aimock as the model server', () => {
  const sandbox = perTest(createSandbox)
  const mock = perTest(
    async () => {
      const server = new LLMock({ port: 0, chunkSize: 4 })
      server.onMessage('hello there', { content: text, reasoning: 'They greet me.' })
      await server.start()
      return server
    },
    (server) => server.stop(),
  )
  const text = 'General Kenobi! 漢字 👍'
  const model = 'o3'
  const messages = [{ role: 'user' as const, content: 'hello there' }]
  const serve: typeof withService = (use) => withService(use, { modelServer: { url: `${mock.url}/v1` } })

  it('replies to chat send', async () => {
    const env = { CHATCTL_MODEL_SERVER: `${mock.url}/v1` }
    const { stdout } = await runChatctl(sandbox, ['chat', 'send', 'hello there', '--model', model], { env })
    expect(stdout).to.equal(`${text}\n`)
  })

  it('returns completions with reasoning, also to the SDK of OpenAI', () =>
    serve(async ({ url, key, call }) => {
      const { body } = await call('POST', '/v1/chat/completions', { model, messages })
      const message = { role: 'assistant', content: text, reasoning: 'They greet me.' }
      expect(body.choices).to.deep.equal([{ index: 0, message, finish_reason: 'stop', end: 'complete' }])
      expect(body.usage.total_tokens).to.equal(body.usage.prompt_tokens + body.usage.completion_tokens)
      const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 })
      const { choices } = await openai.chat.completions.create({ model, messages })
      expect(choices[0]?.message).to.deep.equal(message)
    }))

  it('streams, and counts the tokens of a stream because it is told to', () =>
    serve(async ({ open }) => {
      const asked = { model, message: 'hello there', stream: true }
      const events = await allEvents(await open('POST', '/api/chat/send', asked))
      const done = events.pop()
      expect(done?.data.response).to.equal(text)
      expect(events.map(({ data }) => data.reasoning ?? '').join('')).to.equal('They greet me.')
      expect(events.map(({ data }) => data.delta ?? '').join('')).to.equal(text)
      expect(done?.data.usage.completion_tokens).to.be.greaterThan(0)
      expect(mock.getRequests().at(-1)?.body).to.deep.include({ stream_options: { include_usage: true } })
    }))

  it('streams to the SDK of OpenAI', () =>
    serve(async ({ url, key }) => {
      const openai = new OpenAI({ baseURL: `${url}/openai/v1`, apiKey: key, maxRetries: 0 })
      const final = await openai.chat.completions.stream({ model, messages }).finalChatCompletion()
      expect(final.choices[0]?.message.content).to.equal(text)
    }))
})
