import { expect } from 'chai'
import { readCredential, readProfiles } from '../support/credential-files.ts'
import { expectFailure } from '../support/expect-failure.ts'
import { startLogin } from '../support/login-process.ts'
import { runChatctl } from '../support/run-chatctl.ts'
import { loginFlags, signIn } from '../support/sign-in.ts'
import { makeSignInWorld } from '../support/sign-in-world.ts'

describe('the URL of an OAuth endpoint', () => {
  const world = makeSignInWorld()

  const setTokenUrl = (url: string) =>
    runChatctl(world.sandbox, ['config', 'set', 'token_url', url, '-p', 'work'])

  for (const url of 'invalid http://example.com/t https://example.com/t#f https://a:b@example.com/t'.split(
    ' ',
  ))
    it(`is not stored as token_url if it is unusable: ${url}`, async () => {
      expectFailure(await setTokenUrl(url), 2, 'token_url')
      expect(readProfiles(world.sandbox).profiles ?? {}).to.deep.equal({})
    })

  it('is stored with its query', async () => {
    const url = 'https://example.com/t?tenant=1'
    expect(await setTokenUrl(url)).to.include({ exitCode: 0 })
    expect(readProfiles(world.sandbox).profiles?.['work']).to.deep.equal({ token_url: url })
  })

  for (const [what, revocationEndpoint] of [
    ['null', null],
    ['plain HTTP', 'http://example.com/revoke'],
    ['a number', 12],
  ] as const)
    it(`is ignored if the revocation endpoint in the metadata is ${what}`, async () => {
      world.server.script.metadata = (document) => ({ ...document, revocation_endpoint: revocationEndpoint })
      await signIn(world.sandbox, world)
      expect(readCredential(world.sandbox)).not.to.have.property('revocation_endpoint')
      expect(await runChatctl(world.sandbox, ['auth', 'logout'])).to.include({ exitCode: 0 })
      expect(world.server.revocations).to.deep.equal([])
    })

  it('is the documented path for authorization if the metadata name none', async () => {
    world.server.script.metadata = (document) => ({ ...document, authorization_endpoint: undefined })
    await signIn(world.sandbox, world)
    expect(world.server.authorizations).to.have.length(1)
  })

  const named = 'The authorization endpoint'
  for (const [what, endpoint, words] of [
    ['plain HTTP', 'http://login.example/authorize', 'http://login.example'],
    ['another scheme', 'file:///etc/passwd', named],
    ['one with a fragment', 'https://login.example/authorize#part', named],
    ['one with a password', 'https://user:secret@login.example/authorize', named],
    ['a number', 12, named],
  ] as const)
    it(`is refused before the browser opens if the metadata name ${what} for authorization: exit 2`, async () => {
      world.server.script.metadata = (document) => ({ ...document, authorization_endpoint: endpoint })
      const login = startLogin(world.sandbox, [...loginFlags(world), '--no-browser'], { stdin: '' })
      const run = await login.ended
      expectFailure(run, 2, words)
      expect(run.stderr).not.to.match(/open this URL|secret/)
      expect(world.server.authorizations).to.deep.equal([])
    })
})
