import { expect } from 'chai'
import { startAuthorizationServer } from '../../support/authorization-server.ts'
import { editProfile, readProfiles } from '../../support/credential-files.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { startBearerService } from '../../support/handlers/bearer.ts'
import { perTest } from '../../support/lifetime.ts'
import { startLogin } from '../../support/login-process.ts'
import { plantSignIn } from '../../support/plant-sign-in.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { answer, startScriptedServer } from '../../support/scripted-server.ts'
import { signIn } from '../../support/sign-in.ts'
import { signInByHttp } from '../../support/sign-in-by-http.ts'

/** Anyone who receives a code at the wrong token endpoint can redeem it (RFC 9700 section 4.4). */
describe('signing in at another authorization server than the one in the profile', () => {
  const sandbox = perTest(createSandbox)
  const known = perTest(startAuthorizationServer)
  const other = perTest(startAuthorizationServer)
  const service = perTest(() => startBearerService((token) => known.live.has(token) || other.live.has(token)))
  beforeEach(() => {
    plantSignIn(sandbox, { server: known, service })
    editProfile(sandbox, 'work', {
      client_id: 'client-of-the-known',
      token_url: `${known.url}/oauth/token`,
      scope: 'of-the-known',
    })
  })

  const profile = () => readProfiles(sandbox).profiles?.['work']

  it('sends the code to the new server, without the stored client ID and scope, and replaces them', async () => {
    await signIn(sandbox, { server: other, service }, [])
    expect(known.tokenRequests).to.deep.equal([])
    expect(other.tokenRequests[0]?.get('client_id')).to.equal(other.clientId)
    expect(other.authorizations[0]?.get('client_id')).to.equal(other.clientId)
    expect(other.authorizations[0]?.has('scope')).to.equal(false)
    expect(profile()).to.deep.equal({
      base_url: service.url,
      auth_url: other.url,
      client_id: other.clientId,
      storage: 'file',
      credential: { origin: service.url, storage: 'file' },
    })
  })

  for (const [what, flags, env] of [
    ['--auth-url', () => ['--auth-url', other.url], () => ({})],
    ['CHATCTL_AUTH_URL', () => [], () => ({ CHATCTL_AUTH_URL: other.url })],
  ] as const)
    it(`requires a client ID if ${what} names the new server: exit 3`, async () => {
      const words = ['-p', 'work', '--no-browser', ...flags()]
      const run = await startLogin(sandbox, words, { stdin: '', env: env() }).ended
      expectFailure(run, 3, '--client-id')
      expect(run.stderr).not.to.contain('open this URL')
    })

  for (const [whose, words] of [
    ['of an authorization server', ['-p', 'work', '--client-id', 'x', '--auth-url']],
    ['of a service that may be its own', ['-p', 'new', '--insecure-storage', '--base-url']],
  ] as const)
    it(`reports the metadata ${whose} as rate limited: exit 75`, async () => {
      const busy = await startScriptedServer(answer(429))
      const run = await startLogin(sandbox, [...words, busy.url, '--max-wait', '0'], { stdin: '' }).ended
      await busy.close()
      expectFailure(run, 75, `Cannot read the metadata of ${busy.url}: it responded 429`, 'Try again later')
    })

  it('uses the stored values if the server is the one in the profile', async () => {
    known.script.metadata = () => undefined
    const login = startLogin(sandbox, ['-p', 'work', '--auth-url', known.url, '--no-browser'])
    await signInByHttp((await login.address()).href)
    expect(await login.ended).to.include({ exitCode: 0 })
    expect(known.tokenRequests[0]?.get('client_id')).to.equal('client-of-the-known')
    expect(known.authorizations[0]?.get('scope')).to.equal('of-the-known')
    expect(profile()).to.include({ token_url: `${known.url}/oauth/token`, scope: 'of-the-known' })
  })
})
