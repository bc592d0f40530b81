import { Client } from '../../src/client/client.ts'
import type { ClientOptions } from '../../src/client/client-options.ts'
import { forward, perTest } from '../support/lifetime.ts'
import { type Script, type ScriptedServer, startScriptedServer } from '../support/scripted-server.ts'

export interface ScriptedClient {
  readonly server: ScriptedServer
  readonly client: Client
  /** Starts the server, and creates a client for it. */
  start(script: Script, options?: Partial<ClientOptions>): Promise<void>
}

/**
 * For a suite in which each test starts a server, and a client for it.
 * @param common returns the options that all clients have
 */
export function scriptedClient(common: () => Partial<ClientOptions>): ScriptedClient {
  let client: Client | undefined
  afterEach(async () => {
    await client?.close()
    client = undefined
  })
  const server = perTest(startScriptedServer)
  return {
    server,
    client: forward(() => {
      if (!client) throw new Error('The client was not started')
      return client
    }),
    async start(script, options = {}) {
      client = new Client({ baseUrl: await server.serve(script), ...common(), ...options })
    },
  }
}
