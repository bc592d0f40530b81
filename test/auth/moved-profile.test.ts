import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { startBearerService, tokensSeen } from '../support/bearer-service.ts'
import { expireCredential, findCredentials, readCredential } from '../support/credential-files.ts'
import { expectFailure } from '../support/expect-failure.ts'
import { delayed, type FaultServer } from '../support/fault-server.ts'
import { plantSignIn } from '../support/plant-sign-in.ts'
import { type Run, runChatctl } from '../support/run-chatctl.ts'
import { createSandbox, type Sandbox } from '../support/sandbox.ts'
import { storeKey } from '../support/sign-in.ts'
import { startTokenEndpoint, type TokenEndpoint } from '../support/token-endpoint.ts'

describe('a profile that is signed in to one address, and another address', () => {
  let server: TokenEndpoint
  let service: FaultServer
  let other: FaultServer
  let sandbox: Sandbox
  beforeEach(async () => {
    sandbox = createSandbox()
    server = await startTokenEndpoint()
    service = await startBearerService((token) => server.live.has(token))
    other = await startBearerService((token) => token === 'key-1')
    plantSignIn(sandbox, { server, service })
  })
  afterEach(async () => {
    sandbox.remove()
    await server.close()
    await service.close()
    await other.close()
  })

  const run = (...args: string[]): Promise<Run> => runChatctl(sandbox, args)

  it('a sign-in to the other leaves nothing of the first, even while its token is renewed', async () => {
    expireCredential(sandbox)
    server.script.token = [delayed(2500, server.tokens())]
    const renewing = run('chat', 'models')
    while (server.refreshes().length === 0) await sleep(10)
    await storeKey(sandbox, 'key-1', other)
    expect(await renewing).to.include({ exitCode: 0 })
    expect(findCredentials(sandbox)).to.have.length(1)
    expect(readCredential(sandbox)).to.include({ kind: 'api_key', key: 'key-1' })
    expect(await run('chat', 'models')).to.include({ exitCode: 0 })
    expect(tokensSeen(other)).to.deep.equal(['key-1', 'key-1'])
  })

  it('--base-url of the other for one run: says so, advises a profile of its own, and sends nothing', async () => {
    const failed = await run('chat', 'models', '-p', 'work', '--base-url', other.url)
    expectFailure(failed, 4, '"work" is not signed in to', other.url)
    expect(failed.stderr).to.match(/^Hint: .*a profile of its own.*--profile NAME --base-url http/m)
    expect(failed.stderr, 'which would end the first').not.to.contain('--profile work')
    expect([other.requests, service.requests, server.tokenRequests]).to.deep.equal([[], [], []])
  })

  it('config set base_url says how to forget the first, and that does it', async () => {
    const set = await run('config', 'set', 'base_url', other.url, '-p', 'work')
    expect(set.exitCode).to.equal(0)
    const words = ['auth', 'logout', '--profile', 'work', '--base-url', service.url]
    expect(set.stderr).to.contain(`chatctl ${words.join(' ')}`)
    expect(findCredentials(sandbox)).to.have.length(1)
    const of = await run('auth', 'logout', '-p', 'work')
    expect(of.stderr).to.contain('was not signed in')
    expect(findCredentials(sandbox), 'that of the other').to.have.length(1)
    const logout = await run(...words, '--json')
    expect(logout.exitCode, logout.stderr).to.equal(0)
    expect(JSON.parse(logout.stdout).data ?? JSON.parse(logout.stdout)).to.deep.equal([
      { profile: 'work', origin: service.url, signed_out: true, revoked: true },
    ])
    expect(findCredentials(sandbox)).to.deep.equal([])
    expect(server.revocations[0]?.get('token')).to.equal('refresh-token-1')
  })

  it('config set base_url says nothing where the origin stays the same', async () => {
    const set = await run('config', 'set', 'base_url', `${service.url}/v2`, '-p', 'work')
    expect(set).to.include({ exitCode: 0, stderr: '' })
  })
})
