import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { startBearerService } from '../support/handlers/bearer.ts'
import { perSuite, perTest } from '../support/lifetime.ts'
import { startOidcProvider } from '../support/oidc-provider.ts'
import { createSandbox, type Sandbox } from '../support/sandbox.ts'
import { signInByHttp } from '../support/sign-in-by-http.ts'
import { until } from '../support/until.ts'
import { leftOut, startWine } from '../support/wine/wine.ts'

describe(`the executable for Windows, signed in${leftOut}`, () => {
  const wine = startWine()
  const sandbox = perTest(createSandbox)
  const service = perSuite(() => startBearerService(() => true))

  it('stores an API key in the Credential Manager, and deletes it when the user signs out', async () => {
    const key = 'key-for-the-credential-manager'
    const login = [
      'auth',
      'login',
      '--profile',
      'work',
      '--base-url',
      service.url,
      '--with-api-key',
      '--no-verify',
    ]
    const stored = await wine.run(sandbox, [...login, '--json'], { stdin: `${key}\r\n` })
    expect(stored.exitCode, stored.stderr).to.equal(0)
    expect(JSON.parse(stored.stdout)).to.include({ profile: 'work', storage: 'keychain' })
    expect(filesWith(sandbox, key)).to.deep.equal([])
    const token = ['auth', 'token', '--profile', 'work']
    expect((await wine.run(sandbox, token)).stdout).to.equal(`${key}\n`)
    const logout = await wine.run(sandbox, ['auth', 'logout', '--profile', 'work'])
    expect(logout.exitCode, logout.stderr).to.equal(0)
    const gone = await wine.run(sandbox, token)
    expect(gone.exitCode).to.equal(4)
    expect(gone.stderr).to.contain('chatctl auth login --profile work')
  })

  describe('with OAuth', () => {
    const server = perSuite(() => startOidcProvider())

    it('receives the response of the authorization server on loopback, and renews the tokens', async () => {
      const flags = ['--profile', 'work', '--base-url', service.url, '--auth-url', server.url]
      const login = wine.startProgram(sandbox, [
        ...['auth', 'login', ...flags, '--client-id', server.clientId, '--no-browser'],
        ...['--scope', 'chat:read chat:write'],
      ])
      const address = () => /^To sign in, open this URL:\r?\n(.+)\r?\n/m.exec(login.written().stderr)?.[1]
      await until(() => address() !== undefined, 20_000)
      await signInByHttp(address() ?? '')
      const { exitCode, stderr } = await login.ended
      expect(exitCode, stderr).to.equal(0)
      const before = await wine.run(sandbox, ['auth', 'token'])
      const renewed = await wine.run(sandbox, ['auth', 'refresh'])
      expect(renewed.exitCode, renewed.stderr).to.equal(0)
      const after = await wine.run(sandbox, ['auth', 'token'])
      expect(after.stdout).to.match(/\S/).and.not.equal(before.stdout)
      expect(filesWith(sandbox, after.stdout.trim())).to.deep.equal([])
    })
  })
})

/** The files of a sandbox that contain a text. */
function filesWith({ home }: Sandbox, text: string): string[] {
  return readdirSync(home, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => readFileSync(path).includes(text))
}
