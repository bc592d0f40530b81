import { type AuthorizationServer, startAuthorizationServer } from './authorization-server.ts'
import { startBearerService } from './handlers/bearer.ts'
import { perTest } from './lifetime.ts'
import { createSandbox, type Sandbox } from './sandbox.ts'
import type { ScriptedServer } from './scripted-server.ts'

/** A home directory, a token endpoint, and a service that accepts the tokens of that endpoint. */
export interface SignInWorld {
  readonly sandbox: Sandbox
  readonly server: AuthorizationServer
  readonly service: ScriptedServer
}

/** Call it inside a describe. Creates a world before each test, and removes it after the test. */
export function makeSignInWorld(): SignInWorld {
  const sandbox = perTest(createSandbox)
  const server = perTest(startAuthorizationServer)
  const service = perTest(() => startBearerService((token) => server.live.has(token)))
  return { sandbox, server, service }
}
