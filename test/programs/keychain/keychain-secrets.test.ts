import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { startAuthorizationServer } from '../../support/authorization-server.ts'
import { startBearerService } from '../../support/handlers/bearer.ts'
import { perTest } from '../../support/lifetime.ts'
import { startBuiltLogin } from '../../support/login-process.ts'
import type { Run } from '../../support/run-chatctl.ts'
import { runProgram } from '../../support/run-program.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { describeSample } from '../../support/take-sample.ts'
import { kernelKeys } from './kernel-keys.ts'
import { startSecretService } from './secret-service.ts'
import { attributesOf, loginWithKey } from './stored-key.ts'

interface Secrets {
  /** The secrets that --insecure-storage writes to its file. */
  kept: string[]
  /** The secrets that are not needed after the login. */
  passing: string[]
}

describeSample('the secrets of a login', 2, () => {
  const sandbox = perTest(createSandbox)
  const keyring = perTest(() => startSecretService(sandbox))
  const server = perTest(startAuthorizationServer)
  const service = perTest(() =>
    startBearerService((token) => token === 'canary-key' || server.live.has(token)),
  )
  let env: NodeJS.ProcessEnv
  let keysBefore: string[]
  beforeEach(() => {
    env = { ...keyring.env, TMPDIR: join(sandbox.home, 'tmp'), XDG_CACHE_HOME: join(sandbox.home, 'cache') }
    mkdirSync(join(sandbox.home, 'tmp'))
    keysBefore = kernelKeys()
  })

  async function withKey(key: string, flags: string[]): Promise<{ run: Run; secrets: Secrets }> {
    const run = await loginWithKey(sandbox, service, key, { env, flags })
    return { run, secrets: { kept: [key], passing: [] } }
  }

  async function withBrowser(flags: string[]): Promise<{ run: Run; secrets: Secrets }> {
    const parties = ['--base-url', service.url, '--auth-url', server.url, '--client-id', server.clientId]
    const login = startBuiltLogin(sandbox, ['-p', 'work', ...parties, '--no-browser', ...flags], { env })
    const page = await fetch(await login.address())
    expect(await page.text()).not.to.match(/access-token|refresh-token/)
    const run = await login.ended
    const made = [...server.live].flatMap((token) => [token, token.replace('access', 'refresh')])
    const passing = server.tokenRequests.flatMap((form) => [
      form.get('code') ?? '',
      form.get('code_verifier') ?? '',
    ])
    expect([made.length, passing.length]).to.deep.equal([2, 2])
    return { run, secrets: { kept: made, passing } }
  }

  for (const [title, login, exitCode, inFile] of [
    ['a key in the keychain', () => withKey('canary-key', []), 0, false],
    ['a key in a file', () => withKey('canary-key', ['--insecure-storage']), 0, true],
    ['a refused key', () => withKey('canary-bad', []), 4, false],
    ['a refused key for a file', () => withKey('canary-bad', ['--insecure-storage']), 4, false],
    ['a sign-in in the keychain', () => withBrowser([]), 0, false],
    ['a sign-in in a file', () => withBrowser(['--insecure-storage']), 0, true],
  ] as const) {
    it(`are in ${inFile ? 'the credential file and no other file' : 'no file'} and no output: ${title}`, async () => {
      const { run, secrets } = await login()
      expect(run.exitCode, run.stderr).to.equal(exitCode)
      if (exitCode === 0) {
        const used = await runProgram(sandbox, ['chat', 'models', '-p', 'work'], { env })
        expect(used.exitCode, used.stderr).to.equal(0)
      }
      for (const secret of [...secrets.kept, ...secrets.passing]) {
        expect(run.stdout + run.stderr).not.to.contain(secret)
      }
      const files = secrets.kept.map(filesWith)
      for (const found of files) {
        expect(found).to.have.length(inFile ? 1 : 0)
        if (inFile) expect(found[0]).to.match(/^\.local\/share\/chatctl\/credentials\/[0-9a-f]{64}\.json$/)
      }
      expect(secrets.passing.flatMap(filesWith)).to.deep.equal([])
      const { stdout } = keyring.secretTool(['lookup', ...attributesOf(service)])
      for (const secret of secrets.kept) {
        if (exitCode === 0 && !inFile) expect(stdout).to.contain(secret)
        else expect(stdout).to.equal('')
      }
      expect(kernelKeys(), "the kernel's keyring").to.deep.equal(keysBefore)
    })
  }

  it('are found by this test if a file contains them', () => {
    writeFileSync(join(sandbox.home, 'tmp', 'left'), `x${Buffer.from('canary-key').toString('base64')}x`)
    expect(filesWith('canary-key')).to.deep.equal(['tmp/left'])
  })

  /** Paths of files in the sandbox that contain a secret, also in hexadecimal or Base64. */
  function filesWith(secret: string): string[] {
    const bytes = Buffer.from(secret)
    const forms = [bytes, bytes.toString('hex'), bytes.toString('base64').replace(/.?=*$/, '')]
    return readdirSync(sandbox.home, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => forms.some((form) => readFileSync(path).includes(form)))
      .map((path) => path.slice(sandbox.home.length + 1))
  }
})
