import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { Failure } from '../../../src/contract/failure.ts'
import { readModelServer } from '../../../src/contract/model-server-address.ts'
import { modelServerError } from '../../../src/service/replies/model-server-error.ts'
import { createOpenAiCompatible } from '../../../src/service/replies/openai-compatible.ts'
import { startService } from '../../../src/service/start-service.ts'
import { Interrupted } from '../../../src/system/network/transport.ts'
import { closing } from '../../support/lifetime.ts'
import { sendJson, withModelServer } from '../../support/model-server.ts'
import { startScriptedServer } from '../../support/scripted-server.ts'
import { SteppedClock } from '../../support/stepped-clock.ts'
import { withDirectory, withModel, withService } from '../temporary-service.ts'

const messages = [{ role: 'user' as const, content: 'hello' }]
const never = new AbortController().signal

describe('a model server behind the embedded service', () => {
  it('may omit fields, which are filled in, and return several choices, which are passed on', () =>
    withModel(
      (response) =>
        sendJson(response, {
          id: 'theirs',
          usage: { prompt_tokens: 3, completion_tokens: 4 },
          secret: 'x',
          choices: [{ message: { content: 'a' } }, { message: { content: null }, finish_reason: 'length' }],
        }),
      async ({ call }) => {
        const { body } = await call('POST', '/v1/chat/completions', { messages })
        expect(body.id).to.match(/^chatcmpl_/)
        expect(body.object).to.equal('chat.completion')
        expect(body).to.include({ created: Date.parse('2026-03-01T12:00:00Z') / 1000, model: 'm1' })
        expect(body.usage).to.deep.equal({ prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 })
        expect(body.choices).to.deep.equal([
          {
            index: 0,
            message: { role: 'assistant', content: 'a' },
            finish_reason: 'stop',
            end: 'complete',
          },
          {
            index: 1,
            message: { role: 'assistant', content: '' },
            finish_reason: 'length',
            end: 'empty',
          },
        ])
        expect(body).not.to.have.property('secret')
      },
      { clock: new SteppedClock() },
    ))

  it('may send unusual values outside the reply itself', () =>
    withModelServer(
      (response) =>
        sendJson(response, {
          created: 1_700_000_000.75,
          usage: 'none',
          choices: [{ index: '0', finish_reason: 5, message: { role: null, content: 'a' } }],
        }),
      async ({ url }) => {
        await using modelServer = closing(await createOpenAiCompatible({ url }))
        const { created, choices } = await modelServer.complete({ model: 'm1', messages }, never)
        expect(created).to.equal(1_700_000_000)
        expect(choices[0]).to.deep.equal({
          index: 0,
          message: { role: 'assistant', content: 'a' },
          finish_reason: 'stop',
        })
      },
    ))

  it('that refuses to list its models results in 502, because the caller sent nothing wrong', async () => {
    await using server = await startScriptedServer((_, response) => {
      response.writeHead(400).end('no')
    })
    await withService(
      async ({ call }) => {
        for (const reply of [
          await call('GET', '/v1/chat/models'),
          await call('POST', '/api/chat/send', { message: 'x' }),
        ]) {
          expect(reply.status).to.equal(502)
          expect(reply.body.error).to.deep.include({ code: 'model_server_error' })
          expect(reply.body.error.details).to.include({
            model_server_status: 400,
            model_server_message: 'no',
          })
        }
      },
      { modelServer: { url: `${server.url}/v1` } },
    )
  })

  it('that does not run results in 502, without its address', () =>
    withService(
      async ({ call }) => {
        const { status, body } = await call('POST', '/v1/chat/completions', { messages })
        expect(status).to.equal(502)
        expect(body.error.code).to.equal('model_server_unreachable')
        expect(body.error.message).to.include('connection refused').and.not.include('127.0.0.1')
      },
      { modelServer: { url: 'http://127.0.0.1:9/v1' } },
    ))

  it('does not reveal its address in an error of the connection', () => {
    const late = Object.assign(new Error('connect ETIMEDOUT 10.1.2.3:443'), { code: 'ETIMEDOUT' })
    expect(String(modelServerError(new Interrupted('connect', late), never)))
      .to.include('connection timed out')
      .and.not.include('10.1.2.3')
  })

  it('that never ends its error response is not waited for', () =>
    withModelServer(
      (response) => {
        response.writeHead(500)
        response.write('{')
      },
      async ({ url }) => {
        await using modelServer = closing(await createOpenAiCompatible({ url }))
        const refusal = await modelServer.complete({ model: 'm1', messages }, never).catch((error) => error)
        expect(refusal.details).to.deep.equal({ model_server_status: 500 })
      },
    )).timeout(5_000)

  it('is refused at the start if its URL or its key is invalid', () =>
    withDirectory(async (directory) => {
      const keyFile = join(directory, 'key')
      writeFileSync(keyFile, 'two\nlines', { mode: 0o600 })
      for (const [modelServer, kind] of [
        [{ url: 'not a url' }, 'config'],
        [{ url: 'ftp://127.0.0.1/v1' }, 'config'],
        [{ url: 'http://user:secret@127.0.0.1/v1' }, 'config'],
        [{ url: 'http://127.0.0.1/v1', keyFile: join(directory, 'nope') }, 'config'],
        [{ url: 'http://127.0.0.1/v1', keyFile }, 'config'],
        [{ url: 'http://models.example.com/v1', key: 'sk-1' }, 'refused'],
      ] as const) {
        const failure = await startService({ dataDir: directory, modelServer }).catch((error) => error)
        expect(failure, modelServer.url).to.be.instanceOf(Failure)
        expect(failure.kind).to.equal(kind)
        expect(failure.message).not.to.include('secret')
      }
    }))

  it('can be named by a preset', () => {
    expect(readModelServer('ollama').href).to.equal('http://127.0.0.1:11434/v1')
    expect(readModelServer('https://models.example.com/v1').href).to.equal('https://models.example.com/v1')
    expect(() => readModelServer('toString')).to.throw('must be an http:// or https:// URL')
  })

  it('can be named by a preset when the service starts', () =>
    withService(({ url }) => expect(url).to.be.a('string'), { modelServer: { url: 'lm-studio' } }))
})

describe('the built-in model', () => {
  it('says that it is not an AI, counts words as tokens, and respects max_tokens', () =>
    withService(async ({ call }) => {
      const { body } = await call('POST', '/v1/chat/completions', {
        model: 'test-program',
        messages: [
          { role: 'system', content: 'be brief' },
          { role: 'user', content: 'hello' },
        ],
      })
      expect(body.choices[0].message.content).to.include('not an AI').and.include('1 word and 5 characters')
      expect(body.choices[0].finish_reason).to.equal('stop')
      expect(body.usage.prompt_tokens).to.equal(3)
      expect(body.usage.completion_tokens).to.equal(body.choices[0].message.content.split(' ').length)
      const { body: short } = await call('POST', '/v1/chat/completions', { messages, max_tokens: 2 })
      expect(short.choices[0]).to.deep.include({ finish_reason: 'length' })
      expect(short.usage.completion_tokens).to.equal(2)
    }))

  it('is the only model without a model server', () =>
    withService(async ({ call }) => {
      const { body } = await call('GET', '/v1/chat/models')
      expect(body.data.map(({ id }: { id: string }) => id)).to.deep.equal(['test-program'])
      for (const [path, request] of [
        ['/v1/chat/completions', { messages, model: 'gpt-4' }],
        ['/api/chat/send', { message: 'x', model: 'gpt-4' }],
        ['/api/chat/send', { message: 'x', model: 'gpt-4', stream: true }],
      ] as const) {
        const answer = await call('POST', path, request)
        expect(answer.status).to.equal(404)
        expect(answer.body.error.code).to.equal('model_not_found')
      }
    }))
})
