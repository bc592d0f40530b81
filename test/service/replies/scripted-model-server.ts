import type { ServerResponse } from 'node:http'
import { type RecordedRequest, startFaultServer } from '../../support/fault-server.ts'

export interface ScriptedModelServer {
  /** Includes `/v1`. */
  url: string
  /** Every request so far, oldest first. */
  requests: RecordedRequest[]
}

/** Runs a model server on loopback that responds to completions as the script says, and lists `m1`. */
export async function withModelServer<T>(
  complete: (response: ServerResponse, request: RecordedRequest) => unknown,
  use: (modelServer: ScriptedModelServer) => Promise<T>,
): Promise<T> {
  const server = await startFaultServer(async (request, response) => {
    if (request.path === '/v1/models') {
      sendJson(response, {
        object: 'list',
        data: [{ id: 'm1', object: 'model', created: 7, owned_by: 'me' }],
      })
    } else {
      await complete(response, request)
    }
  })
  try {
    return await use({ url: `${server.url}/v1`, requests: server.requests })
  } finally {
    await server.close()
  }
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
