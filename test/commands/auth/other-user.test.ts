import { expect } from 'chai'
import { startAuthorizationServer } from '../../support/authorization-server.ts'
import { readCredential } from '../../support/credential-files.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { owner } from '../../support/handlers/bearer.ts'
import { perTest } from '../../support/lifetime.ts'
import { startLogin } from '../../support/login-process.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { json, startScriptedServer } from '../../support/scripted-server.ts'
import { loginFlags, signIn, storeKey } from '../../support/sign-in.ts'
import { signInByHttp } from '../../support/sign-in-by-http.ts'

describe('a browser sign-in as another user than before', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(startAuthorizationServer)
  const service = perTest(() => startScriptedServer((...exchange) => json(200, user)(...exchange)))
  /** The user to whom the next token belongs, as the service reports it. */
  let user: object
  beforeEach(() => {
    user = owner
  })

  const mallory = { ...owner, id: 'u2', email: 'mallory@example.com' }
  const attempt = async () => {
    const login = startLogin(sandbox, [...loginFlags({ server, service }), '--no-browser'], { stdin: '' })
    await signInByHttp((await login.address()).href)
    return login.ended
  }

  it('is refused if stdin is not a terminal, with a hint for the command that allows it: exit 3', async () => {
    await signIn(sandbox, { server, service }, [])
    const before = readCredential(sandbox)
    user = mallory
    const run = await attempt()
    const words =
      'Profile "work" was signed in as ada@example.com, and the browser signed in mallory@example.com'
    expectFailure(run, 3, words, 'chatctl auth logout --profile work')
    expect(readCredential(sandbox)).to.deep.equal(before)
    await runChatctl(sandbox, ['auth', 'logout', '--profile', 'work'])
    expect(await attempt()).to.include({ exitCode: 0 })
    expect(readCredential(sandbox).user).to.deep.equal({ id: 'u2', email: 'mallory@example.com' })
  })

  it('is refused also if an API key was stored, but an API key replaces any credential', async () => {
    await storeKey(sandbox, 'key-1', service)
    user = mallory
    expectFailure(await attempt(), 3, 'ada@example.com')
    await storeKey(sandbox, 'key-2', service)
    expect(readCredential(sandbox)).to.deep.include({
      key: 'key-2',
      user: { id: 'u2', email: mallory.email },
    })
  })

  for (const [what, change] of [
    ['has a new email address', { email: 'ada@new.example' }],
    ['no longer has an ID', { id: undefined }],
    ['is not named', { id: undefined, email: undefined }],
  ] as const)
    it(`is not refused if the user ${what}`, async () => {
      await signIn(sandbox, { server, service }, [])
      user = { ...owner, ...change }
      expect(await attempt()).to.include({ exitCode: 0 })
    })
})

describe('a sign-in that grants less than was requested', () => {
  it('names the missing scopes', async () => {
    const sandbox = createSandbox()
    await using server = await startAuthorizationServer()
    await using service = await startScriptedServer(json(200, owner))
    server.script.token = [
      server.tokens({ scope: 'chat:read' }),
      server.tokens({ scope: 'b a x' }),
      server.tokens(),
    ]
    const stderr = async (scope: string) =>
      (await signIn(sandbox, { server, service }, ['--scope', scope])).stderr
    const words = 'The authorization server did not grant these scopes: '
    const shown = await stderr('chat:read chat:write settings:write')
    expect(shown).to.contain(`${words}chat:write settings:write\n`)
    expect(await stderr('a b')).not.to.contain(words)
    // If the response has no scope, all of it was granted (RFC 6749 section 5.1).
    expect(await stderr('a b')).not.to.contain(words)
    sandbox.remove()
  })
})
