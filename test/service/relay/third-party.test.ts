import { LLMock } from '@copilotkit/aimock'
import { expect } from 'chai'
import OpenAI from 'openai'
import { allEvents } from '../read-events.ts'
import { sendJson, withModelServer } from '../replies/scripted-model-server.ts'
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
})

describe('a third-party client (the OpenAI SDK)', () => {
  const connect = ({ url, key }: TemporaryService, options = {}) =>
    new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0, ...options })

  async function failure(work: Promise<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> {
    try {
      await work
    } catch (error) {
      return error as InstanceType<typeof OpenAI.APIError>
    }
    throw new Error('it did not fail')
  }

  it('receives completions', () =>
    withService(async (service) => {
      const answer = await connect(service).chat.completions.create({
        model: 'test-program',
        messages,
        max_tokens: 3,
      })
      expect(answer.object).to.equal('chat.completion')
      expect(answer.choices[0]?.message).to.deep.equal({ role: 'assistant', content: "This is chatctl's " })
      expect(answer.choices[0]?.finish_reason).to.equal('length')
      expect(answer.usage?.completion_tokens).to.equal(3)
      expect(answer._request_id).to.match(/^req_/)
    }))

  it('finds the models at the path of the interface, and not at the path of OpenAI', () =>
    withService(async (service) => {
      const client = connect(service)
      expect(await failure(client.models.list().then())).to.be.instanceOf(OpenAI.NotFoundError)
      const { data } = await client.get<{ data: { id: string }[] }>('/chat/models')
      expect(data[0]?.id).to.equal('test-program')
    }))

  it('receives 502, 503 with Retry-After, or 400 if the model server fails', () => {
    const answers = [
      [{ error: { message: 'Incorrect API key provided: sk-up' } }, 401],
      [{ error: { message: 'slow down' } }, 429],
      [{ error: { code: 'context_length_exceeded', message: 'maximum context length is 10' } }, 400],
    ] as const
    let turn = 0
    return withModelServer(
      (response) => {
        const [body, status] = answers[turn++] ?? [{}, 500]
        sendJson(response.setHeader('retry-after', '7'), body, status)
      },
      ({ url }) =>
        withService(
          async (service) => {
            const ask = () => failure(connect(service).chat.completions.create({ model: 'm1', messages }))
            const refused = await ask()
            expect(refused).to.be.instanceOf(OpenAI.InternalServerError)
            expect(refused.status).to.equal(502)
            expect(JSON.stringify(refused.error)).not.to.include('sk-up')
            const busy = await ask()
            expect([busy.status, busy.code]).to.deep.equal([503, 'model_server_overloaded'])
            expect(busy.headers?.get('retry-after')).to.equal('7')
            const long = await ask()
            expect(long).to.be.instanceOf(OpenAI.BadRequestError)
            expect(long.code).to.equal('context_too_long')
            expect(long.message).to.include('longer than the context window')
          },
          { modelServer: { url, key: 'sk-up' } },
        ),
    )
  })
})
