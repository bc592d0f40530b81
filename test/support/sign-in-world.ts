import { startBearerService } from './bearer-service.ts'
import type { FaultServer } from './fault-server.ts'
import { perTest } from './lifetime.ts'
import { createSandbox, type Sandbox } from './sandbox.ts'
import { startTokenEndpoint, type TokenEndpoint } from './token-endpoint.ts'

/** A home directory, a token endpoint, and a service that accepts the tokens of that endpoint. */
export interface SignInWorld {
  readonly sandbox: Sandbox
  readonly server: TokenEndpoint
  readonly service: FaultServer
}

/** Call it inside a describe. Creates a world before each test, and removes it after the test. */
export function makeSignInWorld(): SignInWorld {
  const sandbox = perTest(createSandbox)
  const server = perTest(startTokenEndpoint)
  const service = perTest(() => startBearerService((token) => server.live.has(token)))
  return { sandbox, server, service }
}
