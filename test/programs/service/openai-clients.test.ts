import type { ServerResponse } from 'node:http'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { ChatOpenAI } from '@langchain/openai'
import { APICallError, generateText, jsonSchema, streamText, tool } from 'ai'
import { expect } from 'chai'
import OpenAI from 'openai'
import { type TemporaryService, withService } from '../../service/temporary-service.ts'
import { sendDelta, sendDone, sendJson, startEvents, withModelServer } from '../../support/model-server.ts'

/** What the model server does next, request by request. The last one repeats. */
type Turn = (response: ServerResponse) => unknown

const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 }
const replies =
  (message: object, finish_reason: string): Turn =>
  (response) => {
    const choices = [{ index: 0, message: { role: 'assistant', ...message }, finish_reason }]
    sendJson(response, { id: 'x', created: 1, model: 'm1', choices, usage })
  }
const whole = replies({ content: 'General Kenobi' }, 'stop')
const call = { id: 'call_1', type: 'function', function: { name: 'add', arguments: '{"a":1,"b":2}' } }
const callsTool = replies({ content: null, tool_calls: [call] }, 'tool_calls')
const streams: Turn = (response) => {
  startEvents(response)
  for (const text of ['General ', 'Kenobi']) sendDelta(response, text)
  sendDelta(response, '', 'stop')
  sendDone(response)
}
const streamsTool: Turn = (response) => {
  startEvents(response)
  const { name, arguments: words } = call.function
  for (const delta of [
    { role: 'assistant', tool_calls: [{ ...call, index: 0, function: { name, arguments: '' } }] },
    { tool_calls: [{ index: 0, function: { arguments: words } }] },
  ])
    response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`)
  sendDelta(response, '', 'tool_calls')
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
    ({ url, requestsOf }) =>
      withService(
        (service) =>
          use(service, () => requestsOf('/v1/chat/completions').map(({ body }) => JSON.parse(body))),
        { modelServer: { url } },
      ),
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
      // The class is another one in each package that has it.
      expect(APICallError.isInstance(error)).to.equal(true)
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
      expect(String(error)).to.include('The response from the model server was truncated')
    }))
})

describe('the SDK of OpenAI as a client of the embedded service', () => {
  const messages = [{ role: 'user' as const, content: 'Hello there' }]
  const connect = ({ url, key }: TemporaryService) => new OpenAI({ baseURL: `${url}/openai/v1`, apiKey: key })

  it('lists models, completes, and streams with the test program', () =>
    withService(async (service) => {
      const client = connect(service)
      const [model] = (await client.models.list()).data
      expect(await client.models.retrieve('test-program')).to.deep.include(model)
      const request = { model: 'test-program', messages }
      const { choices, _request_id } = await client.chat.completions.create(request)
      expect(_request_id).to.match(/^req_/)
      const final = await client.chat.completions.stream(request).finalChatCompletion()
      expect(final.choices[0]?.message.content).to.equal(choices[0]?.message.content)
    }))

  it('throws the error of a refused request, and of a truncated stream', () =>
    withTurns([fails(400), truncates], async (service) => {
      const invalid = await thrownBy(() => connect({ ...service, key: 'ck_wrong' }).models.list())
      expect(invalid).to.be.instanceOf(OpenAI.AuthenticationError).and.include({ code: 'invalid_api_key' })
      const { completions } = connect(service).chat
      const refused = await thrownBy(() => completions.create({ model: 'm1', messages }))
      expect(refused).to.be.instanceOf(OpenAI.BadRequestError).and.include({ code: 'invalid_request' })
      const stream = completions.stream({ model: 'm1', messages })
      const truncated = await thrownBy(() => stream.finalChatCompletion())
      expect(truncated).to.be.instanceOf(OpenAI.APIError).and.include({ code: 'model_server_error' })
    }))

  it('joins the parts of a tool call, and a reply of a server that does not stream', () =>
    withTurns([streamsTool, callsTool], async (service) => {
      for (const _ of ['streamed', 'whole']) {
        const stream = connect(service).chat.completions.stream({ model: 'm1', messages })
        const [choice] = (await stream.finalChatCompletion()).choices
        expect(choice?.finish_reason).to.equal('tool_calls')
        expect(choice?.message.tool_calls?.[0]).to.deep.include(call)
      }
    }))

  it('does not retry what the model server refuses', () =>
    withTurns([402, 404, 413].map(fails), async (service, bodies) => {
      for (const status of [402, 404, 413]) {
        const { completions } = connect(service).chat
        expect(await thrownBy(() => completions.create({ model: 'm1', messages }))).to.include({ status })
      }
      expect(bodies()).to.have.length(3)
    }))

  it('retries if the model server is overloaded, or fails', () =>
    withTurns([fails(529), fails(500), whole], async (service, bodies) => {
      const { choices } = await connect(service).chat.completions.create({ model: 'm1', messages })
      expect(choices[0]?.message.content).to.equal('General Kenobi')
      expect(bodies()).to.have.length(3)
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
