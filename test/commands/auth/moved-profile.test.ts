import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { startAuthorizationServer } from '../../support/authorization-server.ts'
import {
  editProfile,
  expireCredential,
  findCredentials,
  readCredential,
  readProfiles,
} from '../../support/credential-files.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { startBearerService, tokensSeen } from '../../support/handlers/bearer.ts'
import { perTest } from '../../support/lifetime.ts'
import { plantSignIn } from '../../support/plant-sign-in.ts'
import { type Run, runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { delayed } from '../../support/scripted-server.ts'
import { storeKey } from '../../support/sign-in.ts'

describe('a profile that is signed in to one address and has moved to another', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(startAuthorizationServer)
  const service = perTest(() => startBearerService((token) => server.live.has(token)))
  const other = perTest(() => startBearerService((token) => token === 'key-1'))
  beforeEach(() => plantSignIn(sandbox, { server, service }))

  const run = (...args: string[]): Promise<Run> => runChatctl(sandbox, args)

  it('keeps only the new sign-in, also if the old token is being renewed', async () => {
    expireCredential(sandbox)
    server.script.token = [delayed(500, server.tokens())]
    const renewing = run('chat', 'models')
    while (server.refreshes().length === 0) await sleep(10)
    await storeKey(sandbox, 'key-1', other)
    expect(await renewing).to.include({ exitCode: 0 })
    expect(findCredentials(sandbox)).to.have.length(1)
    expect(readCredential(sandbox)).to.include({ kind: 'api_key', key: 'key-1' })
    expect(await run('chat', 'models')).to.include({ exitCode: 0 })
    expect(tokensSeen(other)).to.deep.equal(['key-1', 'key-1'])
  })

  it('is not used with --base-url of another address, and the hint names a separate profile', async () => {
    const failed = await run('chat', 'models', '-p', 'work', '--base-url', other.url)
    expectFailure(failed, 4, 'has another base URL', other.url)
    expect(failed.stderr).to.match(/^Hint: .*a new profile: .*--profile NAME --base-url http/m)
    expect(failed.stderr, 'which would end the first').not.to.contain('--profile work')
    expect([other.requests, service.requests, server.tokenRequests]).to.deep.equal([[], [], []])
  })

  it('can sign out of the old address with the command that config set base_url prints', async () => {
    const set = await run('config', 'set', 'base_url', other.url, '-p', 'work')
    expect(set.exitCode).to.equal(0)
    const words = ['auth', 'logout', '--profile', 'work', '--base-url', service.url]
    expect(set.stderr).to.contain(`chatctl ${words.join(' ')}`)
    expect(findCredentials(sandbox)).to.have.length(1)
    const logout = await run(...words, '--json')
    expect(logout.exitCode, logout.stderr).to.equal(0)
    const shown = JSON.parse(logout.stdout)
    expect(shown).to.deep.equal([{ profile: 'work', origin: service.url, signed_out: true, revoked: true }])
    expect(findCredentials(sandbox)).to.deep.equal([])
    expect(server.revocations[0]?.get('token')).to.equal('refresh-token-1')
    expect(readProfiles(sandbox).profiles?.['work']).not.to.have.property('credential')
  })

  for (const [what, move] of [
    ['config set base_url', () => run('config', 'set', 'base_url', other.url, '-p', 'work')],
    ['config unset base_url', () => run('config', 'unset', 'base_url', '-p', 'work')],
    ['an editor', async () => editProfile(sandbox, 'work', { base_url: other.url })],
  ] as const) {
    for (const flags of [
      ['-p', 'work'],
      ['--all', '--yes'],
    ])
      it(`is signed out of the old address by auth logout ${flags[0]} after ${what}`, async () => {
        await move()
        const logout = await run('auth', 'logout', ...flags, '--json')
        expect(logout.exitCode, logout.stderr).to.equal(0)
        const row = { profile: 'work', origin: service.url, signed_out: true, revoked: true }
        expect(JSON.parse(logout.stdout)).to.deep.include(row)
        expect(logout.stderr).not.to.contain('was not signed in')
        expect(findCredentials(sandbox)).to.deep.equal([])
        expect(server.revocations[0]?.get('token')).to.equal('refresh-token-1')
      })
  }

  it('can sign out of the old address if its new address is invalid', async () => {
    editProfile(sandbox, 'work', { base_url: 'invalid' })
    expect(await run('auth', 'logout', '-p', 'work', '--base-url', service.url)).to.include({ exitCode: 0 })
    expect(findCredentials(sandbox)).to.deep.equal([])
  })

  it('has its old token revoked by a sign-in to the new address', async () => {
    await storeKey(sandbox, 'key-1', other)
    expect(server.revocations.map((form) => form.get('token'))).to.deep.equal(['refresh-token-1'])
    expect(readProfiles(sandbox).profiles?.['work']?.['credential']).to.deep.equal({
      origin: other.url,
      storage: 'file',
    })
  })

  it('is signed out of the old address without signing out another profile', async () => {
    await run('config', 'set', 'base_url', other.url, '-p', 'work')
    const words = ['auth', 'login', '--with-api-key', '-p', 'second', '--base-url', other.url]
    await runChatctl(sandbox, [...words, '--insecure-storage'], { stdin: 'key-1\n' })
    await run('auth', 'logout', '-p', 'work', '--base-url', service.url)
    expect(readCredential(sandbox)).to.include({ kind: 'api_key', key: 'key-1' })
  })

  it('gets no notice from config set base_url if the origin stays the same', async () => {
    const set = await run('config', 'set', 'base_url', `${service.url}/v2`, '-p', 'work')
    expect(set).to.include({ exitCode: 0, stderr: '' })
  })
})
