import { perSuite } from './lifetime.ts'
import { createSandbox, type Sandbox } from './sandbox.ts'
import { json, type ScriptedServer, startScriptedServer } from './scripted-server.ts'

/** A home directory, and a service that replies `ok` to every message. */
export interface ServedMessages {
  readonly sandbox: Sandbox
  readonly server: ScriptedServer
  /** The environment that selects the service. */
  env(): NodeJS.ProcessEnv
  /** The messages of this test so far. */
  sent(): string[]
}

/** Call it inside a describe. */
export function servedMessages(): ServedMessages {
  const sandbox = perSuite(createSandbox)
  const server = perSuite(() =>
    startScriptedServer(
      json(200, { id: 'm', response: 'ok', context_id: 'c', created_at: '2026-01-01T00:00:00Z' }),
    ),
  )
  beforeEach(() => {
    server.requests.length = 0
  })
  return {
    sandbox,
    server,
    env: () => ({ CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'test-key' }),
    sent: () => server.requests.map(({ body }) => JSON.parse(body).message),
  }
}
