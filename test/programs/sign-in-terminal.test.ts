import { expect } from 'chai'
import { startAuthorizationServer } from '../support/authorization-server.ts'
import { readCredential } from '../support/credential-files.ts'
import { owner } from '../support/handlers/bearer.ts'
import { perTest } from '../support/lifetime.ts'
import { createSandbox } from '../support/sandbox.ts'
import { json, startScriptedServer } from '../support/scripted-server.ts'
import { loginFlags, signIn } from '../support/sign-in.ts'
import { agreeByHttp, signInByHttp } from '../support/sign-in-by-http.ts'
import { Terminal } from './terminal.ts'

describe('auth login in a terminal', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(startAuthorizationServer)
  const service = perTest(() => startScriptedServer((...exchange) => json(200, user)(...exchange)))
  let terminal: Terminal | undefined
  let user: object
  beforeEach(() => {
    user = owner
  })
  afterEach(() => terminal?.kill())

  const start = async (...more: string[]) => {
    terminal = new Terminal(sandbox, ['auth', 'login', ...loginFlags({ server, service }), ...more])
    await terminal.waitFor('Then wait, or paste the URL')
    const [, address = ''] = /^To sign in, open this URL:\r?\n(\S+)/m.exec(terminal.shown) ?? []
    return { terminal, address }
  }

  it('accepts a pasted URL that is longer than the 4,095 bytes of a terminal line', async () => {
    const code = `c${'0123456789'.repeat(700)}`
    server.script.redirectBack = (query) => query.set('code', code)
    const { terminal, address } = await start('--no-browser')
    terminal.type(`what?\r${await agreeByHttp(address)}\r`)
    expect(await terminal.end(), terminal.shown).to.equal(0)
    expect(terminal.shown).to.contain('Still waiting: the pasted text is not a complete URL.')
    expect(server.tokenRequests[0]?.get('code')).to.equal(code)
  })

  it('can be interrupted with Ctrl-C while it waits for a pasted URL', async () => {
    const { terminal } = await start('--no-browser')
    terminal.type('http://half\u0003')
    expect(await terminal.end()).to.equal(130)
  })

  for (const [answer, exitCode, id] of [
    ['y\r', 0, 'u2'],
    ['n\r', 3, 'u1'],
  ] as const) {
    it(`asks for confirmation before it replaces the credential of another user: ${answer.trim()}`, async () => {
      await signIn(sandbox, { server, service }, [])
      user = { ...owner, id: 'u2', email: 'mallory@example.com' }
      const { terminal, address } = await start('--no-browser')
      const page = signInByHttp(address)
      await terminal.waitFor('Continue as mallory@example.com?')
      expect(terminal.shown).to.contain('Profile "work" was signed in as ada@example.com')
      terminal.type(answer)
      expect(await terminal.end(), terminal.shown).to.equal(exitCode)
      expect((await page).text).to.contain(exitCode === 0 ? 'Signed in' : 'Not signed in')
      expect(readCredential(sandbox).user?.id).to.equal(id)
    })
  }
})
