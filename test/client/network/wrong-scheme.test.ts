import { createServer as createPlainServer, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { makeCertificate } from '../../support/certificate.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox, type Sandbox } from '../../support/sandbox.ts'

describe('a base URL with the wrong scheme', () => {
  let sandbox: Sandbox
  let plain: Server
  let secured: Server
  before(async () => {
    sandbox = createSandbox()
    plain = createPlainServer((_, response) => response.end('{}'))
    secured = createTlsServer(makeCertificate('127.0.0.1'), (_, response) => response.end('{}'))
    for (const server of [plain, secured]) {
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    }
  })
  after(() => {
    plain.close()
    secured.close()
    sandbox.remove()
  })

  const hostOf = (server: Server) => `127.0.0.1:${(server.address() as AddressInfo).port}`
  const run = (baseUrl: string, ...args: string[]) =>
    runChatctl(sandbox, [...args, '--retries', '0', '--base-url', baseUrl], {
      env: { CHATCTL_API_KEY: 'some-key' },
    })

  for (const args of [
    ['chat', 'models'],
    ['users', 'create', '--email', 'ada@example.com', '--generate-password'],
  ]) {
    it(`is named for https and a server without TLS: ${args.slice(0, 2).join(' ')}`, async () => {
      const host = hostOf(plain)
      expectFailure(
        await run(`https://${host}`, ...args),
        69,
        `Cannot reach https://${host}: the server does not speak TLS`,
        `--base-url http://${host}`,
      )
    })

    it(`is named for http and a server that requires TLS: ${args.slice(0, 2).join(' ')}`, async () => {
      const host = hostOf(secured)
      expectFailure(
        await run(`http://${host}`, ...args),
        69,
        `Cannot reach http://${host}: the server requires TLS`,
        `--base-url https://${host}`,
      )
    })
  }
})
