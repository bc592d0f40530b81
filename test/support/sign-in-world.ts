import { startBearerService } from './bearer-service.ts'
import type { FaultServer } from './fault-server.ts'
import { perTest } from './lifetime.ts'
import { createSandbox, type Sandbox } from './sandbox.ts'
import { startTokenEndpoint, type TokenEndpoint } from './token-endpoint.ts'

/** A home, a token endpoint, and a service that accepts the tokens which that endpoint has issued. */
export interface SignInWorld {
  readonly sandbox: Sandbox
  readonly server: TokenEndpoint
  readonly service: FaultServer
}

/** To be called in a suite: makes a world before each of its tests, and removes it after. */
export function makeSignInWorld(): SignInWorld {
  const sandbox = perTest(createSandbox)
  const server = perTest(startTokenEndpoint)
  const service = perTest(() => startBearerService((token) => server.live.has(token)))
  return { sandbox, server, service }
}
