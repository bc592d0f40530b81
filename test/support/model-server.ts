import type { ServerResponse } from 'node:http'
import {
  failing,
  json,
  type RecordedRequest,
  type ScriptedServer,
  startScriptedServer,
} from './scripted-server.ts'

/** Responds to the request of a completion. Most need only the response. */
export type Completion = (response: ServerResponse, request: RecordedRequest) => unknown

interface ModelServerOptions {
  models?: readonly string[]
  /** More fields of each model in the list. */
  about?: object
  /** Default: each model replies with its ID. */
  complete?: Completion
}

/** Starts an OpenAI-compatible model server on loopback. Its URL includes `/v1`. See README.md. */
export async function startModelServer({
  models = ['m1', 'm2', 'm3'],
  about,
  complete = (response, request) => introduce(response, request, models),
}: ModelServerOptions = {}): Promise<ScriptedServer> {
  const listed = { data: models.map((id) => ({ id, object: 'model', created: 7, owned_by: 'me', ...about })) }
  const server = await startScriptedServer({
    choose: ({ path }) => {
      if (path === '/v1/models') return json(200, { object: 'list', ...listed })
      if (path !== '/v1/chat/completions') return failing(404, 'not_found', 'no such path')
      return (request, response) => complete(response, request)
    },
  })
  return Object.assign(server, { url: `${server.url}/v1` })
}

/** Runs a model server with the model `m1` while `use` runs. */
export async function withModelServer<T>(
  complete: Completion,
  use: (modelServer: ScriptedServer) => Promise<T>,
): Promise<T> {
  await using server = await startModelServer({ models: ['m1'], complete })
  return await use(server)
}

function introduce(response: ServerResponse, { body }: RecordedRequest, models: readonly string[]): void {
  const { model } = JSON.parse(body)
  const message = { role: 'assistant', content: `I am ${model}.` }
  if (models.includes(model))
    sendJson(response, { model, choices: [{ index: 0, message, finish_reason: 'stop' }] })
  else sendJson(response, { error: { message: 'no such model' } }, 404)
}

export function sendJson(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

export function startEvents(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
}

export function sendDelta(response: ServerResponse, content: string, finish: string | null = null): void {
  const choice = { index: 0, delta: content ? { content } : {}, finish_reason: finish }
  response.write(`data: ${JSON.stringify({ model: 'm1-7b', choices: [choice] })}\n\n`)
}

export function sendDone(response: ServerResponse): void {
  response.end('data: [DONE]\n\n')
}

/** A model server that streams half of a reply, and the other half when it is told to. */
export function halfReply(): { serve: (response: ServerResponse) => void; finish: () => void } {
  const { promise: isToEnd, resolve: finish } = Promise.withResolvers<void>()
  const serve = async (response: ServerResponse) => {
    startEvents(response)
    sendDelta(response, 'half')
    await isToEnd
    sendDelta(response, ' and half', 'stop')
    sendDone(response)
  }
  return { serve, finish }
}
