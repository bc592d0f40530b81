import { expect } from 'chai'
import { expectNothingStored, findCredentials, readProfiles } from '../../support/credential-files.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { startLogin } from '../../support/login-process.ts'
import { plantSignIn } from '../../support/plant-sign-in.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { signInByHttp } from '../../support/sign-in-by-http.ts'
import { makeSignInWorld } from '../../support/sign-in-world.ts'

describe('auth login with an address and without a profile', () => {
  const world = makeSignInWorld()

  for (const [what, flags, env] of [
    ['--base-url', () => ['--base-url', world.service.url], () => ({})],
    ['--base-url, with a slash', () => ['--base-url', `${world.service.url}/`], () => ({})],
    ['CHATCTL_BASE_URL', () => [], () => ({ CHATCTL_BASE_URL: world.service.url })],
  ] as const)
    it(`uses the profile that has the address, and all values stored in it: ${what}`, async () => {
      plantSignIn(world.sandbox, world)
      const login = startLogin(world.sandbox, ['--no-browser', ...flags()], { env: env() })
      await signInByHttp((await login.address()).href)
      expect(await login.ended).to.include({ exitCode: 0 })
      expect(world.server.tokenRequests[0]?.get('client_id')).to.equal(world.server.clientId)
      expect(Object.keys(readProfiles(world.sandbox).profiles ?? {})).to.deep.equal(['work'])
      expect(findCredentials(world.sandbox)).to.have.length(1)
    })

  it('does not use a profile that has another address', async () => {
    plantSignIn(world.sandbox, world)
    const flags = ['--no-browser', '--insecure-storage', '--base-url', `${world.service.url}/sub`]
    expectFailure(await startLogin(world.sandbox, flags, { stdin: '' }).ended, 3, '--auth-url')
  })

  it('names --profile if a profile of another address has the name of the host, in any case', async () => {
    const set = ['config', 'set', 'base_url', 'https://other.example', '--profile', 'Chat.Example']
    await runChatctl(world.sandbox, set)
    const flags = '--base-url https://chat.example --with-api-key --no-verify --insecure-storage'.split(' ')
    const run = await startLogin(world.sandbox, flags, { stdin: 'key-1\n' }).ended
    expectFailure(run, 2, 'Profile "Chat.Example" already exists, with another base URL', '--profile NAME')
  })

  for (const [what, host] of [
    ['is too long', `${'a'.repeat(60)}.${'b'.repeat(60)}.example`],
    ['is a property of every object', '__proto__'],
  ] as const)
    it(`fails if the name of the profile ${what}: exit 2`, async () => {
      const flags = ['--base-url', `https://${host}`, '--with-api-key', '--no-verify', '--insecure-storage']
      expectFailure(await startLogin(world.sandbox, flags, { stdin: 'key-1\n' }).ended, 2)
      expectNothingStored(world.sandbox)
    })
})
