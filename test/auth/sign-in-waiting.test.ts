import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { expectNothingStored } from '../support/credential-files.ts'
import { expectFailure } from '../support/expect-failure.ts'
import { startBearerService } from '../support/handlers/bearer.ts'
import { perSuite, perTest } from '../support/lifetime.ts'
import { type Login, startLogin } from '../support/login-process.ts'
import { startOidcProvider } from '../support/oidc-provider.ts'
import { createSandbox } from '../support/sandbox.ts'
import { silent, startScriptedServer } from '../support/scripted-server.ts'
import { loginFlags } from '../support/sign-in.ts'
import { agreeByHttp, signInByHttp } from '../support/sign-in-by-http.ts'

describe('auth login, while it waits for the browser', () => {
  const server = perSuite(() => startOidcProvider({ requiresPkce: false }))
  const service = perSuite(() => startBearerService((token) => server.isLive(token)))
  const sandbox = perTest(createSandbox)
  afterEach(() => expectNothingStored(sandbox))

  const start = (...more: string[]): Login =>
    startLogin(sandbox, [
      ...loginFlags({ server, service }),
      ...['--scope', 'chat:write', '--no-browser', ...more],
    ])

  it('exits 4 after --wait, and names the likely cause', async () => {
    const { address, ended } = start('--wait', '1s')
    const redirectUri = (await address()).searchParams.get('redirect_uri') ?? ''
    expectFailure(await ended, 4, /redirect/i, redirectUri)
    expect(await listens(redirectUri)).to.equal(false)
  })

  for (const [signal, exitCode] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)
    it(`exits ${exitCode} on ${signal}, and closes the port`, async function () {
      if (process.platform === 'win32') return this.skip()
      const { address, interrupt, ended } = start()
      const redirectUri = (await address()).searchParams.get('redirect_uri') ?? ''
      expect(await listens(redirectUri)).to.equal(true)
      interrupt(signal)
      const run = await ended
      expect(run).to.include({ exitCode, stdout: '' })
      expect(run.stderr).not.to.match(/This is a bug|^Error:/m)
      expect(await listens(redirectUri)).to.equal(false)
    })

  it('shows in the browser that the sign-in failed after Ctrl-C', async function () {
    if (process.platform === 'win32') return this.skip()
    await using silence = await startScriptedServer(silent)
    const token = ['--token-url', `${silence.url}/token`]
    const { address, interrupt, ended } = start(...token)
    const page = signInByHttp((await address()).href)
    while (silence.requests.length === 0) await sleep(10)
    interrupt('SIGINT')
    expect(await ended).to.include({ exitCode: 130, stdout: '' })
    expect((await page).text).to.contain('<title>Not signed in')
  })

  it('exits 4 if the code was already redeemed by someone else', async () => {
    const { address, paste, ended } = start('--no-pkce')
    const { href, searchParams } = await address()
    const redirect = await agreeByHttp(href)
    const body = new URLSearchParams({
      grant_type: 'authorization_code',
      client_id: server.clientId,
      code: new URL(redirect).searchParams.get('code') ?? '',
      redirect_uri: searchParams.get('redirect_uri') ?? '',
    })
    expect((await fetch(`${server.url}/oauth/token`, { method: 'POST', body })).status).to.equal(200)
    paste(redirect)
    expectFailure(await ended, 4)
    expect(server.count('authorization_code', 'refused')).to.equal(1)
  })
})

/** Whether a server accepts connections at a URL. */
async function listens(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  try {
    return await new Promise((resolve) => {
      socket.once('connect', () => resolve(true))
      socket.once('error', () => resolve(false))
    })
  } finally {
    socket.destroy()
  }
}
