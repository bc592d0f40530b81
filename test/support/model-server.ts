import { type FaultServer, json, type RecordedRequest, startFaultServer } from './fault-server.ts'

export interface TestModelServer {
  /** Includes `/v1`. */
  url: string
  /** Every request so far, oldest first. */
  requests: readonly RecordedRequest[]
  close(): Promise<void>
}

/** Runs an OpenAI-compatible model server on loopback. Each model replies with its ID. */
export async function startModelServer(
  models: readonly string[] = ['m1', 'm2', 'm3'],
  port?: number,
): Promise<TestModelServer> {
  const server: FaultServer = await startFaultServer(
    { choose: ({ path, body }) => reply(path, body, models) },
    port,
  )
  return {
    url: `${server.url}/v1`,
    requests: server.requests,
    close: () => server.close(),
  }
}

function reply(path: string, body: string, models: readonly string[]) {
  if (path === '/v1/models') {
    return json(200, { data: models.map((id) => ({ id, object: 'model', created: 1, owned_by: 'test' })) })
  }
  if (path !== '/v1/chat/completions') return json(404, { error: { message: 'no such path' } })
  const { model } = JSON.parse(body)
  if (!models.includes(model)) return json(404, { error: { message: 'no such model' } })
  const message = { role: 'assistant', content: `I am ${model}.` }
  return json(200, { model, choices: [{ index: 0, message, finish_reason: 'stop' }] })
}
