import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { startBearerService } from '../../support/bearer-service.ts'
import { perSuite, perTest } from '../../support/lifetime.ts'
import { startBuiltLogin } from '../../support/login-process.ts'
import { runProgram } from '../../support/run-program.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { startTokenEndpoint } from '../../support/token-endpoint.ts'
import { startSecretService } from './secret-service.ts'
import { attributesOf, type KeyLogin, loginWithKey, storedKey } from './stored-key.ts'

const numbers = Array.from({ length: 30 }, (_, index) => index)

describe('30 concurrent logins', () => {
  const sandbox = perTest(createSandbox)
  const keyring = perTest(() => startSecretService(sandbox))
  const service = perTest(() => startBearerService(() => true))

  const login = async (key: string, options: KeyLogin) => {
    const { exitCode, stderr } = await loginWithKey(sandbox, service, key, { ...options, env: keyring.env })
    // One daemon serves all of them in turn, so some have to wait and report that. All but the first
    // login to a profile replace a key.
    const expected =
      /^\{"notice":\{"message":"(Waiting for the keychain\. |chatctl cannot revoke API keys).*\n/gm
    return { exitCode, stderr: stderr.replace(expected, '') }
  }
  const succeeded = numbers.map(() => ({ exitCode: 0, stderr: '' }))
  const configuration = () =>
    JSON.parse(readFileSync(join(sandbox.home, '.config', 'chatctl', 'config.json'), 'utf8'))
  const valuesOf = (...attributes: string[]) =>
    keyring
      .secretTool(['search', '--all', ...attributes])
      .stdout.match(/^secret = .*$/gm)
      ?.map((line) => line.slice('secret = '.length))

  it('store one key each for 30 profiles', async () => {
    const runs = await Promise.all(numbers.map((n) => login(`canary-${n}`, { profile: `work-${n}` })))
    expect(runs).to.deep.equal(succeeded)
    const { profiles, default_profile } = configuration()
    const names = numbers.map((n) => `work-${n}`)
    expect(Object.keys(profiles)).to.have.members(names)
    expect(names).to.contain(default_profile)
    for (const n of numbers) {
      expect(profiles[`work-${n}`].base_url).to.equal(service.url)
      expect(valuesOf(...attributesOf(service, `work-${n}`))).to.deep.equal([storedKey(`canary-${n}`)])
    }
    expect(valuesOf('service', `chatctl:${service.url}`)).to.have.length(30)
  })

  it('store one of their keys for one profile', async () => {
    const runs = await Promise.all(numbers.map((n) => login(`canary-${n}`, { profile: 'work' })))
    expect(runs).to.deep.equal(succeeded)
    const { profiles, default_profile } = configuration()
    expect(Object.keys(profiles)).to.deep.equal(['work'])
    expect(default_profile).to.equal('work')
    const values = valuesOf('service', `chatctl:${service.url}`)
    expect(values).to.have.length(1)
    expect(numbers.map((n) => storedKey(`canary-${n}`))).to.include(values?.[0])
  })
})

describe('20 concurrent requests with an expired token', () => {
  const sandbox = perSuite(createSandbox)
  const keyring = perSuite(() => startSecretService(sandbox))
  const server = perSuite(startTokenEndpoint)
  const service = perSuite(() => startBearerService((token) => server.live.has(token)))

  it('renew it once, and store the result in one item', async () => {
    const { env } = keyring
    const parties = ['--base-url', service.url, '--auth-url', server.url, '--client-id', server.clientId]
    const login = startBuiltLogin(sandbox, ['-p', 'work', ...parties, '--no-browser'], { env })
    await fetch(await login.address())
    expect(await login.ended).to.include({ exitCode: 0 })
    const lookup = () => JSON.parse(keyring.secretTool(['lookup', ...attributesOf(service)]).stdout)
    const expired = { ...lookup(), expires_at: new Date(Date.now() - 60_000).toISOString() }
    const words = ['store', '--label=of a test', ...attributesOf(service)]
    expect(keyring.secretTool(words, JSON.stringify(expired))).to.include({ exitCode: 0 })
    server.live.clear()
    const runs = await Promise.all(
      numbers
        .slice(10)
        .map(() => runProgram(sandbox, ['chat', 'models', '-p', 'work'], { env, timeout: 60_000 })),
    )
    expect(
      runs.map(
        ({ exitCode, stderr }) => exitCode || stderr.replace(/^Waiting for the keychain\. .*\n/gm, ''),
      ),
    ).to.deep.equal(runs.map(() => ''))
    expect(server.refreshes()).to.have.length(1)
    expect(lookup()).to.include({ access_token: 'access-token-2', refresh_token: 'refresh-token-2' })
    expect(
      keyring.secretTool(['search', '--all', ...attributesOf(service)]).stdout.match(/^secret = /gm),
    ).to.have.length(1)
  })
})
