import type { ServerResponse } from 'node:http'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { ChatOpenAI } from '@langchain/openai'
import { APICallError, generateText, jsonSchema, streamText, tool } from 'ai'
import { expect } from 'chai'
import OpenAI from 'openai'
import {
  sendDelta,
  sendDone,
  sendJson,
  startEvents,
  withModelServer,
} from '../../service/replies/scripted-model-server.ts'
import { type TemporaryService, withService } from '../../service/temporary-service.ts'

/** What the model server does next, request by request. The last one repeats. */
type Turn = (response: ServerResponse) => unknown

const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 }
const whole: Turn = (response) => {
  const message = { role: 'assistant', content: 'General Kenobi' }
  sendJson(response, {
    id: 'x',
    created: 1,
    model: 'm1',
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage,
  })
}
const callsTool: Turn = (response) => {
  const call = { id: 'call_1', type: 'function', function: { name: 'add', arguments: '{"a":1,"b":2}' } }
  const message = { role: 'assistant', content: null, tool_calls: [call] }
  sendJson(response, {
    id: 'x',
    created: 1,
    model: 'm1',
    choices: [{ index: 0, message, finish_reason: 'tool_calls' }],
    usage,
  })
}
const streams: Turn = (response) => {
  startEvents(response)
  for (const text of ['General ', 'Kenobi']) sendDelta(response, text)
  sendDelta(response, '', 'stop')
  sendDone(response)
}
const truncates: Turn = (response) => {
  startEvents(response)
  sendDelta(response, 'General ')
  setTimeout(() => response.socket?.resetAndDestroy(), 50)
}
const fails =
  (status: number): Turn =>
  (response) =>
    sendJson(response.setHeader('retry-after', '1'), { error: { message: 'out of memory' } }, status)

const parameters = {
  type: 'object' as const,
  properties: { a: { type: 'number' as const }, b: { type: 'number' as const } },
}

function withTurns(
  turns: Turn[],
  use: (service: TemporaryService, bodies: () => { messages: object[] }[]) => Promise<void>,
) {
  let turn = 0
  return withModelServer(
    (response) => turns[Math.min(turn++, turns.length - 1)]?.(response),
    ({ url, requests }) =>
      withService((service) => use(service, () => requests.map(({ body }) => JSON.parse(body))), {
        modelServer: { url },
      }),
  )
}

async function thrownBy(work: () => Promise<unknown>): Promise<unknown> {
  try {
    await work()
  } catch (error) {
    return error
  }
  throw new Error('it did not fail')
}

describe('the AI SDK as a client of the embedded service', () => {
  const modelOf = ({ url, key }: TemporaryService) =>
    createOpenAICompatible({ name: 'chatctl', baseURL: `${url}/openai/v1`, apiKey: key })('m1')
  const prompt = 'Hello there'

  it('generates text, also with a tool that it calls', () =>
    withTurns([callsTool, whole], async (service, bodies) => {
      const add = tool({
        inputSchema: jsonSchema<{ a: number; b: number }>(parameters),
        execute: async ({ a, b }) => a + b,
      })
      const { text, steps } = await generateText({
        model: modelOf(service),
        prompt,
        tools: { add },
        stopWhen: ({ steps }) => steps.length === 2,
      })
      expect(text).to.equal('General Kenobi')
      expect(steps[0]?.toolResults[0]?.output).to.equal(3)
      expect(bodies()[1]?.messages.at(-1)).to.deep.include({ role: 'tool', tool_call_id: 'call_1' })
    }))

  it('streams text', () =>
    withTurns([streams], async (service) => {
      const { textStream, finishReason } = streamText({ model: modelOf(service), prompt })
      let text = ''
      for await (const part of textStream) text += part
      expect([text, await finishReason]).to.deep.equal(['General Kenobi', 'stop'])
    }))

  it('reports a truncated stream as an error', () =>
    withTurns([truncates], async (service) => {
      const errors: unknown[] = []
      const { fullStream } = streamText({
        model: modelOf(service),
        prompt,
        onError: ({ error }) => void errors.push(error),
      })
      const types: string[] = []
      for await (const { type } of fullStream) types.push(type)
      expect(types).to.include('text-delta').and.include('error')
      expect(errors).to.have.length(1)
    }))

  it('retries errors of the model server', () =>
    withTurns([fails(429), fails(500), whole], async (service, bodies) => {
      expect((await generateText({ model: modelOf(service), prompt })).text).to.equal('General Kenobi')
      expect(bodies()).to.have.length(3)
    }))

  it('reports the message of a request that the model server rejects', () =>
    withTurns([fails(400)], async (service) => {
      const error = await thrownBy(() => generateText({ model: modelOf(service), prompt }))
      expect(error).to.be.instanceOf(APICallError)
      expect((error as APICallError).message).to.include('out of memory')
    }))
})

describe('LangChain as a client of the embedded service', () => {
  const modelOf = ({ url, key: apiKey }: TemporaryService) =>
    new ChatOpenAI({ model: 'm1', apiKey, configuration: { baseURL: `${url}/openai/v1` }, maxRetries: 2 })
  const prompt = 'Hello there'

  it('completes, calls tools, and streams', () =>
    withTurns([whole, callsTool, streams], async (service) => {
      const model = modelOf(service)
      expect((await model.invoke(prompt)).text).to.equal('General Kenobi')
      const tools = [{ type: 'function' as const, function: { name: 'add', parameters } }]
      const { tool_calls } = await model.bindTools(tools).invoke(prompt)
      expect(tool_calls?.[0]).to.deep.include({ name: 'add', args: { a: 1, b: 2 } })
      let text = ''
      for await (const chunk of await model.stream(prompt)) text += chunk.text
      expect(text).to.equal('General Kenobi')
    }))

  it('throws the error of a truncated stream', () =>
    withTurns([truncates], async (service) => {
      let text = ''
      const error = await thrownBy(async () => {
        for await (const chunk of await modelOf(service).stream(prompt)) text += chunk.text
      })
      expect(text).to.equal('General ')
      expect(String(error)).to.include('truncated the response')
    }))
})

describe('the SDK of OpenAI as a client of the embedded service', () => {
  const messages = [{ role: 'user' as const, content: 'Hello there' }]
  const connect = ({ url, key }: TemporaryService) => new OpenAI({ baseURL: `${url}/openai/v1`, apiKey: key })

  it('retries a status of 500', () =>
    withTurns([fails(500), whole], async (service, bodies) => {
      const { choices } = await connect(service).chat.completions.create({ model: 'm1', messages })
      expect(choices[0]?.message.content).to.equal('General Kenobi')
      expect(bodies()).to.have.length(2)
    }))

  it('runs tools', () =>
    withTurns([callsTool, whole], async (service, bodies) => {
      const run = {
        name: 'add',
        parameters,
        parse: JSON.parse,
        function: ({ a, b }: { a: number; b: number }) => `${a + b}`,
      }
      const runner = connect(service).chat.completions.runTools({
        model: 'm1',
        messages,
        tools: [{ type: 'function', function: { ...run, description: 'Add' } }],
      })
      expect(await runner.finalContent()).to.equal('General Kenobi')
      expect(bodies()[1]?.messages.at(-1)).to.deep.include({ role: 'tool', content: '3' })
    }))
})
