import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { expect } from 'chai'
import { startBearerService } from '../../support/bearer-service.ts'
import { perTest } from '../../support/lifetime.ts'
import type { Run } from '../../support/run-chatctl.ts'
import { runProgram } from '../../support/run-program.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { noBus } from './session-bus.ts'
import { expectCode, loginWithKey } from './stored-key.ts'

describe('the place of a credential file', () => {
  const sandbox = perTest(createSandbox)
  const service = perTest(() => startBearerService(() => true))
  let path: string
  const env = noBus('dead address')
  beforeEach(async () => {
    const name = createHash('sha256').update(`chatctl:${service.url}\0work`).digest('hex')
    path = join(sandbox.home, '.local', 'share', 'chatctl', 'credentials', `${name}.json`)
    expect(await login('canary-1')).to.include({ exitCode: 0 })
    service.requests.length = 0
  })

  // A run that hangs has no exit code.
  const run = (...args: string[]) =>
    runProgram(sandbox, [...args, '-p', 'work', '--json'], { env, timeout: 10_000 })
  const login = (key: string) => loginWithKey(sandbox, service, key, { env, flags: ['--insecure-storage'] })
  const commands: [string, () => Promise<Run>][] = [
    ['a request', () => run('chat', 'models')],
    ['a login', () => login('canary-2')],
    ['auth logout', () => run('auth', 'logout')],
  ]

  for (const [what, next] of [
    ['login', () => login('canary-2')],
    ['logout', () => run('auth', 'logout')],
  ] as const) {
    it(`contains no partial file of a killed write after the next ${what}`, async () => {
      const left = join(dirname(path), `.${basename(path)}.4711-abc.part`)
      writeFileSync(left, '{"version":1,"kind":"api_key","key":"canary-0', { mode: 0o600 })
      const { exitCode, stderr } = await next()
      expect(exitCode, stderr).to.equal(0)
      expect(existsSync(left)).to.equal(false)
      expect(readdirSync(dirname(path))).to.have.length(what === 'login' ? 1 : 0)
    })
  }

  it('can contain a pipe, for which no command waits, and which logout removes', async () => {
    rmSync(path)
    execFileSync('mkfifo', ['-m', '600', path])
    for (const [, command] of commands.slice(0, 2)) expectCode(await command(), 'insecure_file_unsafe')
    expect(service.requests.map(({ headers }) => headers.authorization)).not.to.include('Bearer canary-1')
    const logout = await run('auth', 'logout')
    expect(logout.exitCode, logout.stderr).to.equal(0)
    expect(readdirSync(dirname(path))).to.deep.equal([])
  })

  it('can be a link instead of a directory, and logout deletes nothing in its target', async () => {
    const elsewhere = join(sandbox.home, 'elsewhere')
    renameSync(dirname(path), elsewhere)
    symlinkSync(elsewhere, dirname(path))
    writeFileSync(join(elsewhere, 'of another user'), '')
    const before = readdirSync(elsewhere)
    expectCode(await run('auth', 'logout'), 'insecure_file_unsafe')
    expect(readdirSync(elsewhere)).to.deep.equal(before).and.have.length(2)
  })

  for (const [what, put] of [
    ['a file', (at: string) => writeFileSync(at, 'x')],
    ['a link to itself', (at: string) => symlinkSync(at, at)],
  ] as const) {
    it(`can be ${what} instead of a directory, which causes an error and not a bug report`, async () => {
      rmSync(dirname(path), { recursive: true })
      put(dirname(path))
      for (const [name, command] of commands) {
        const { exitCode, stdout, stderr } = await command()
        expect(exitCode, `${name}: ${stderr}`).to.be.oneOf([1, 4])
        expect(stdout, name).to.equal('')
        expect(stderr, name).to.contain(dirname(path)).and.not.match(/bug/)
      }
    })
  }
})
