import { createHash } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { startBearerService, tokensSeen } from '../../support/handlers/bearer.ts'
import { perTest } from '../../support/lifetime.ts'
import { runProgram } from '../../support/run-program.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { describeSample } from '../../support/take-sample.ts'
import { stranger } from '../disk/run-as.ts'
import { startSecretService } from './secret-service.ts'
import { noBus } from './session-bus.ts'
import { attributesOf, expectCode, linesOf, loginWithKey, storedKey } from './stored-key.ts'

/** Needs root to give a file to another user. */
describeSample('a credential in a file', 2, () => {
  const sandbox = perTest(createSandbox)
  const service = perTest(() => startBearerService(() => true))
  let path: string
  let env: NodeJS.ProcessEnv
  beforeEach(() => {
    env = { ...noBus('dead address'), XDG_DATA_HOME: join(sandbox.home, 'data') }
    const name = createHash('sha256').update(`chatctl:${service.url}\0work`).digest('hex')
    path = join(sandbox.home, 'data', 'chatctl', 'credentials', `${name}.json`)
  })

  const run = (line: string) => runProgram(sandbox, line.split(' '), { env })
  const login = (key: string, ...flags: string[]) =>
    loginWithKey(sandbox, service, key, { env, flags: flags.length > 0 ? flags : ['--insecure-storage'] })
  const models = () => run('chat models -p work --json')
  const modeOf = (at: string) => (statSync(at).mode & 0o7777).toString(8)
  const stored = () => readFileSync(path, 'utf8')

  it('has mode 0600 in a directory with mode 0700, whatever the umask is', async () => {
    for (const mask of [0o000, 0o077]) {
      const before = process.umask(mask)
      try {
        expect(await login('canary-1')).to.include({ exitCode: 0 })
      } finally {
        process.umask(before)
      }
      expect([modeOf(path), modeOf(dirname(path))]).to.deep.equal(['600', '700'])
      expect(stored().trim()).to.equal(storedKey('canary-1'))
      expect(readdirSync(dirname(path))).to.have.length(1)
    }
  })

  it('causes a warning at the login only, and is shown and used', async () => {
    const { exitCode, stdout, stderr } = await login('canary-1')
    expect(exitCode, stderr).to.equal(0)
    expect(JSON.parse(stdout)).to.include({ storage: 'file', kind: 'api_key', verified: true })
    const [warning, ...others] = linesOf({ exitCode, stdout, stderr })
    expect(warning?.warning?.message).to.contain('stored unencrypted in a file')
    expect(others).to.deep.equal([])
    expect(await models()).to.include({ exitCode: 0, stderr: '' })
    const status = await run('auth status --json')
    expect(status.stderr).to.equal('')
    expect(JSON.parse(status.stdout)).to.include({ profile: 'work', storage: 'file', verified: true })
    const list = await run('auth list --json')
    expect(list).to.include({ exitCode: 0, stderr: '' })
    expect(list.stdout).to.contain('"file"')
    expect(stdout + stderr + status.stdout + list.stdout).not.to.contain('canary')
    expect(new Set(tokensSeen(service))).to.deep.equal(new Set(['canary-1']))
  })

  it('is replaced by the next login and deleted by a logout, without a keychain', async () => {
    await login('canary-old')
    expect(await login('canary-new')).to.include({ exitCode: 0 })
    expect(stored()).to.contain('canary-new').and.not.contain('canary-old')
    for (const _ of ['signed in', 'signed out']) {
      expect(await run('auth logout -p work')).to.include({ exitCode: 0 })
      expect(readdirSync(dirname(path))).to.deep.equal([])
    }
    expectCode(await models(), 'unauthorized')
  })

  const aside = () => join(sandbox.home, 'aside')
  const link = () => {
    renameSync(path, aside())
    symlinkSync(aside(), path)
  }
  for (const [title, spoil] of [
    ['a symbolic link', link],
    ['a file that others may read', () => chmodSync(path, 0o644)],
    ['a directory that all may write', () => chmodSync(dirname(path), 0o777)],
    ["another user's file", () => chownSync(path, stranger, stranger)],
  ] as const) {
    it(`is not used, repaired, or overwritten in ${title}`, async () => {
      await login('canary-1')
      service.requests.length = 0
      spoil()
      const failed = await models()
      expect(expectCode(failed, 'insecure_file_unsafe').message).to.contain(dirname(path))
      expect(failed.stderr).not.to.contain('canary')
      expect(service.requests).to.deep.equal([])
      expectCode(await login('canary-2'), 'insecure_file_unsafe')
      expect(stored()).to.contain('canary-1').and.not.contain('canary-2')
    })
  }

  it('can be deleted by a logout if it is unsafe, and the target of a link stays', async () => {
    for (const spoil of [() => chmodSync(path, 0o644), link]) {
      await login('canary-1')
      spoil()
      const logout = await run('auth logout -p work --json')
      expect(logout.exitCode, logout.stderr).to.equal(0)
      expect(readdirSync(dirname(path))).to.deep.equal([])
    }
    expect(readFileSync(aside(), 'utf8')).to.equal(storedKey('canary-1'))
  })

  it('is unusable if it is empty or invalid', async () => {
    await login('canary-1')
    for (const [text, words] of [
      ['', /./],
      ['canary-garbage', /./],
      ['{"version":2}', /newer version of chatctl/],
    ] as const) {
      writeFileSync(path, text)
      const failed = await models()
      expect(failed.exitCode).to.equal(4)
      expect(failed.stderr).to.match(words).and.not.contain('canary')
    }
    expect(await login('canary-2')).to.include({ exitCode: 0 })
  })

  describe('with a keychain', () => {
    const keyring = perTest(() => startSecretService(sandbox))
    beforeEach(() => {
      env = { ...env, ...keyring.env }
    })

    const lookup = () => keyring.secretTool(['lookup', ...attributesOf(service)])
    const expectUsed = async (key: string) => {
      expect(await models()).to.include({ exitCode: 0, stderr: '' })
      expect(tokensSeen(service).at(-1)).to.equal(key)
    }

    it('replaces the key in the keychain with --insecure-storage', async () => {
      expect(await login('canary-1', '--no-insecure-storage')).to.include({ exitCode: 0 })
      expect(await login('canary-2')).to.include({ exitCode: 0 })
      expect(lookup()).to.include({ exitCode: 1, stdout: '' })
      await expectUsed('canary-2')
    })

    it('is replaced by a key in the keychain with --no-insecure-storage', async () => {
      await login('canary-1')
      const moved = await login('canary-2', '--no-insecure-storage')
      expect(moved.exitCode, moved.stderr).to.equal(0)
      expect(linesOf(moved).map(({ notice }) => notice?.message)).to.deep.equal([
        `chatctl cannot revoke API keys. The key that was stored before may stay valid at ${service.url}.`,
      ])
      expect(JSON.parse(moved.stdout)).to.include({ storage: 'keychain' })
      expect(existsSync(path)).to.equal(false)
      expect(lookup().stdout).to.equal(storedKey('canary-2'))
      await expectUsed('canary-2')
      const status = await run('auth status -p work --json')
      expect(JSON.parse(status.stdout)).to.include({ storage: 'keychain' })
    })

    it('stays if the keychain refuses the next key', async () => {
      await login('canary-1')
      keyring.lock()
      expectCode(await login('canary-2', '--no-insecure-storage'), 'keychain_locked')
      expect(stored()).to.contain('canary-1')
      await expectUsed('canary-1')
    })
  })
})
