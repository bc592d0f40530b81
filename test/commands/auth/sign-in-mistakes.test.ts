import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { startAuthorizationServer } from '../../support/authorization-server.ts'
import { readProfiles } from '../../support/credential-files.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { startBearerService } from '../../support/handlers/bearer.ts'
import { perTest } from '../../support/lifetime.ts'
import { startLogin } from '../../support/login-process.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { loginFlags, storeKey } from '../../support/sign-in.ts'
import { signInByHttp } from '../../support/sign-in-by-http.ts'

/** Mistakes of users who sign in for the first time, or whose configuration is unusual. */
describe('signing in with a common mistake', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(startAuthorizationServer)
  const service = perTest(() => startBearerService(() => true))

  const configure = (configuration: object): void => {
    const directory = join(sandbox.home, '.config', 'chatctl')
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    writeFileSync(join(directory, 'config.json'), JSON.stringify(configuration))
  }

  it('ignores white space around a URL', async () => {
    const flags = ['-p', 'work', '--base-url', `${service.url} `, '--auth-url', ` ${server.url} `]
    const more = ['--client-id', server.clientId, '--insecure-storage', '--no-browser']
    const login = startLogin(sandbox, [...flags, ...more])
    await signInByHttp((await login.address()).href)
    expect(await login.ended).to.include({ exitCode: 0 })
    const { work } = readProfiles(sandbox).profiles ?? {}
    expect(work).to.include({ base_url: service.url, auth_url: server.url })
  })

  for (const way of [['--with-api-key'], ['--ci'], ['--credential-command', 'op read x']]) {
    for (const option of [['--no-browser'], ['--no-pkce'], ['--redirect-port', '8400']])
      it(`refuses ${way[0]} with ${option[0]}, which it would ignore`, async () => {
        const env = { CHATCTL_OIDC: 'env:X' }
        const args = ['auth', 'login', '--base-url', service.url, '--dry-run', ...way, ...option]
        const words = `${way[0]} and ${option[0]} cannot be used together`
        expectFailure(await runChatctl(sandbox, args, { env }), 2, words)
      })
  }

  it('refuses --credential-command with --scope, which it would store for nothing', async () => {
    const flags = ['--base-url', service.url, '--credential-command', 'op read x', '--scope', 'chat:read']
    const run = await runChatctl(sandbox, ['auth', 'login', ...flags])
    expectFailure(run, 2, '--credential-command and --scope cannot be used together')
  })

  it('prints a useful hint if --base-url is given without the profile', async () => {
    await storeKey(sandbox, 'key-1', service)
    const run = await runChatctl(sandbox, ['auth', 'status', '--base-url', service.url])
    expectFailure(run, 4, '--profile NAME')
    expect(run.stderr).not.to.contain('auth login')
  })

  for (const [variable, value] of [
    ['CHATCTL_API_KEY', () => 'env-key'],
    ['CHATCTL_API_KEY_FILE', () => join(sandbox.home, 'key.txt')],
  ] as const)
    it(`warns at login and logout that ${variable} takes precedence`, async () => {
      writeFileSync(join(sandbox.home, 'key.txt'), 'env-key')
      const env = { [variable]: value() }
      const flags = ['-p', 'work', '--base-url', service.url, '--with-api-key', '--insecure-storage']
      const login = await startLogin(sandbox, flags, { stdin: 'key-1\n', env }).ended
      expect(login.stderr).to.contain(`${variable} is set and takes precedence`)
      const logout = await runChatctl(sandbox, ['auth', 'logout', '-p', 'work'], { env })
      expect(logout.stderr).to.contain(`${variable} is set and takes precedence`)
    })

  it('uses the default profile if two profiles have the base URL', async () => {
    await storeKey(sandbox, 'key-a', service, 'a')
    await storeKey(sandbox, 'key-b', service, 'b')
    await runChatctl(sandbox, ['auth', 'use', 'b'])
    const flags = ['--base-url', service.url, '--with-api-key']
    const { stdout } = await startLogin(sandbox, [...flags, '--json'], { stdin: 'key-c\n' }).ended
    expect(JSON.parse(stdout).profile).to.equal('b')
    const token = async (name: string) =>
      (await runChatctl(sandbox, ['auth', 'token', '-p', name])).stdout.trim()
    expect([await token('a'), await token('b')]).to.deep.equal(['key-a', 'key-c'])
  })

  it('lists the other profiles if one has an invalid base URL', async () => {
    await storeKey(sandbox, 'key-a', service, 'a')
    const { profiles = {} } = readProfiles(sandbox)
    configure({ profiles: { ...profiles, odd: { base_url: 'invalid' } } })
    const { exitCode, stdout } = await runChatctl(sandbox, ['auth', 'list'])
    expect(exitCode).to.equal(0)
    expect(stdout).to.match(/^a\t.*\tapi_key\tfile\t/m)
    expect(stdout).to.match(/^odd\t/m)
  })

  it('replaces a default profile that does not exist', async () => {
    configure({ default_profile: 'gone', profiles: { x: { base_url: service.url } } })
    expect(await runChatctl(sandbox, ['auth', 'list'])).to.include({ exitCode: 0 })
    await storeKey(sandbox, 'key-1', service, 'x')
    expect(readProfiles(sandbox).default_profile).to.equal('x')
    configure({ default_profile: 'gone', profiles: { x: { base_url: service.url } } })
    expect(await runChatctl(sandbox, ['auth', 'use', 'x'])).to.include({ exitCode: 0 })
    expect(readProfiles(sandbox).default_profile).to.equal('x')
  })

  it('fails before the browser opens if the profile cannot be written', async () => {
    const flags = [...loginFlags({ server, service }), '--no-browser']
    const env = { XDG_CONFIG_HOME: '/dev/null/x' }
    const run = await startLogin(sandbox, flags, { stdin: '', env }).ended
    expectFailure(run, 1, 'XDG_CONFIG_HOME')
    expect(run.stderr).not.to.contain('open this URL')
  })
})
