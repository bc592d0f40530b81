import { expect } from 'chai'
import { type AuthorizationServer, startAuthorizationServer } from '../../support/authorization-server.ts'
import { startBearerService } from '../../support/handlers/bearer.ts'
import { startBuiltLogin } from '../../support/login-process.ts'
import type { Sandbox } from '../../support/sandbox.ts'
import type { SecretService } from './secret-service.ts'

interface BrowserSignIn extends AsyncDisposable {
  server: AuthorizationServer
  /** The tokens expire, and the keychain is locked when they are renewed. */
  lockAtRenewal(): void
  close(): Promise<void>
}

/** Signs in to the profile `work` with a browser, and stores the tokens in the keychain. */
export async function browserSignIn(sandbox: Sandbox, keyring: SecretService): Promise<BrowserSignIn> {
  const server = await startAuthorizationServer()
  const service = await startBearerService((token) => server.live.has(token))
  const parties = ['--base-url', service.url, '--auth-url', server.url, '--client-id', server.clientId]
  const login = startBuiltLogin(sandbox, ['-p', 'work', ...parties, '--no-browser'], { env: keyring.env })
  await (await fetch(await login.address())).text()
  const { exitCode, stderr } = await login.ended
  expect(exitCode, stderr).to.equal(0)
  const close = async () => {
    await service.close()
    await server.close()
  }
  return {
    server,
    close,
    [Symbol.asyncDispose]: close,
    lockAtRenewal() {
      server.live.clear()
      const good = server.tokens()
      server.script.token = [
        (...exchange) => {
          keyring.lock()
          return good(...exchange)
        },
      ]
    },
  }
}
