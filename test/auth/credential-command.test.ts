import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { systemClock } from '../../src/system/clock.ts'
import { startAuthorizationServer } from '../support/authorization-server.ts'
import { editProfile, findCredentials, readProfiles } from '../support/credential-files.ts'
import { expectFailure } from '../support/expect-failure.ts'
import { startBearerService, tokensSeen } from '../support/handlers/bearer.ts'
import { perTest } from '../support/lifetime.ts'
import { plantSignIn } from '../support/plant-sign-in.ts'
import { type HostOptions, type Run, runChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'
import { storeKey } from '../support/sign-in.ts'

describe('a credential command', () => {
  const sandbox = perTest(createSandbox)
  const live = new Set<string>()
  const service = perTest(() => startBearerService((token) => live.has(token)))
  beforeEach(() => {
    live.clear()
    live.add('key-one')
  })

  const run = (args: readonly string[], options: HostOptions = {}): Promise<Run> =>
    runChatctl(sandbox, args, options)

  /** A command that runs a script of sh, and counts its runs in a file. */
  function command(script: string): string {
    const path = join(sandbox.home, 'print key')
    writeFileSync(path, `printf x >> '${path}.runs'; ${script}`)
    return `sh '${path}'`
  }
  const runs = (): number => {
    const path = join(sandbox.home, 'print key.runs')
    return existsSync(path) ? readFileSync(path, 'utf8').length : 0
  }
  const loginWords = (line: string) => [
    ...['auth', 'login', '--profile', 'work', '--base-url', service.url],
    ...['--credential-command', line],
  ]
  const login = (line: string, ...more: string[]): Promise<Run> => run([...loginWords(line), ...more])
  /** Stores the command of a working sign-in, which runs again afterwards. */
  async function signedIn(script: string): Promise<string> {
    const line = command(script)
    expect(await login(line, '--no-verify')).to.include({ exitCode: 0, stderr: '' })
    return line
  }

  const print = (text: string) => `printf %s '${text}'`

  it('is stored instead of its output, after the service has accepted that', async () => {
    const line = command(print('key-one\n'))
    const { exitCode, stdout, stderr } = await login(line, '--json')
    expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '' })
    expect(JSON.parse(stdout)).to.deep.include({
      profile: 'work',
      kind: null,
      storage: 'command',
      verified: true,
      user: { id: 'u1', email: 'ada@example.com', name: 'Ada' },
    })
    expect(readProfiles(sandbox)).to.deep.equal({
      default_profile: 'work',
      profiles: { work: { base_url: service.url, credential_command: line } },
    })
    expect(findCredentials(sandbox)).to.deep.equal([])
    expect(await run(['chat', 'models'])).to.include({ exitCode: 0, stderr: '' })
    expect(tokensSeen(service)).to.deep.equal(['key-one', 'key-one'])
    expect(runs(), 'once for each command line').to.equal(2)
  })

  it('is not stored if the service refuses its output', async () => {
    expectFailure(await login(command(print('key-two'))), 4, 'The token is not valid', 'was not stored')
    expect(readProfiles(sandbox)).to.deep.equal({})
    expect(runs()).to.equal(1)
  })

  it('runs only if a request is sent', async () => {
    const line = await signedIn(print('key-one'))
    expect(await run(['chat', 'send', 'Hi', '--dry-run'])).to.include({ exitCode: 0 })
    const list = await run(['auth', 'list', '--json'])
    expect(JSON.parse(list.stdout)[1]).to.deep.include({ profile: 'work', kind: null, storage: 'command' })
    expect(JSON.parse((await run(['auth', 'status', '--no-verify', '--json'])).stdout)).to.deep.include({
      credential: `the output of the command: ${line}`,
      storage: 'command',
      verified: false,
    })
    expect((await run(['config', 'get', 'credential_command'])).stdout).to.equal(`${line}\n`)
    expect(await run(['doctor', '--base-url', 'http://127.0.0.1:9'])).to.include({ exitCode: 4 })
    expect(await run(loginWords(line).concat('--dry-run'))).to.include({ exitCode: 0 })
    expect(runs()).to.equal(0)
  })

  it('gives auth token its output, and doctor and auth status its kind and end', async () => {
    const now = Date.now()
    const expires_at = new Date(now + 3_600_000).toISOString()
    await signedIn(print(JSON.stringify({ access_token: 'key-one', expires_at })))
    expect((await run(['auth', 'token'])).stdout).to.equal('key-one\n')
    const status = JSON.parse((await run(['auth', 'status', '--json'])).stdout)
    expect(status).to.deep.include({ kind: 'oauth', storage: 'command', expires_at, verified: true })
    expect((await run(['doctor'])).stdout).to.contain('credential\tok\tthe output of the command: ')
    expect(runs()).to.equal(3)
  })

  it('shows its messages without control characters, and never its output', async () => {
    await signedIn(`printf 'Touch\\033[31m your\\007 key\\n' >&2; ${print('key-one')}`)
    expect(await run(['chat', 'models'])).to.include({ exitCode: 0, stderr: 'Touch your key\n' })
    const json = await run(['chat', 'models', '--json'])
    expect(JSON.parse(json.stderr)).to.deep.equal({ notice: { message: 'Touch your key' } })
    expect(await run(['chat', 'models', '--quiet'])).to.include({ exitCode: 0, stderr: '' })
    const traced = await run(['chat', 'models', '--debug'])
    expect(traced.stderr).to.contain('authorization: [redacted]').and.not.contain('key-one')
  })

  for (const [what, script, words] of [
    ['fails', `echo 'not signed in' >&2; ${print('hidden-key')}; exit 3`, 'exited with code 3'],
    ['prints nothing', '', 'wrote nothing'],
    ['prints without end', 'exec yes hidden-key', 'wrote more than 64 KiB'],
    ['is killed', `${print('hidden-key')}; kill $$`, 'failed: SIGTERM'],
  ] as const)
    it(`ends the command line with 4 if it ${what}`, async () => {
      const line = await signedIn(script)
      const failed = await run(['chat', 'models'])
      expectFailure(
        failed,
        4,
        `The credential command of profile "work" ${words}`,
        `Run it yourself: ${line}`,
      )
      expect(failed.stderr).not.to.contain('hidden-')
      expect(service.requests).to.deep.equal([])
      if (what === 'fails') {
        expect(failed.stderr).to.match(/^not signed in$/m)
        expect((await run(['chat', 'models', '-q'])).stderr).to.contain('exited with code 3: not signed in')
      }
    })

  it('ends the command line with 4 if its program does not exist', async () => {
    expect(await login('no-such-program read', '--no-verify')).to.include({ exitCode: 0 })
    const words = 'cannot start "no-such-program": no such file or directory (ENOENT)'
    expectFailure(await run(['chat', 'models']), 4, words)
  })

  it('is killed after 30 seconds, and chatctl says after 2 what it waits for', async () => {
    await signedIn('exec sleep 600')
    const slept: number[] = []
    const clock = {
      ...systemClock,
      sleep: async (ms: number, signal?: AbortSignal) => {
        slept.push(ms)
        if (ms !== 30_000 && ms !== 2_000) return systemClock.sleep(ms, signal)
      },
    }
    const late = await run(['chat', 'models'], { host: { clock } })
    expectFailure(late, 4, 'did not end within 30 s', /^Waiting for the credential command…$/m)
    expect(slept).to.include.members([2_000, 30_000])
  })

  it('is not used if the environment has an API key', async () => {
    await signedIn(print('key-one'))
    live.add('key-two')
    const env = { CHATCTL_API_KEY: 'key-two' }
    expect(await run(['chat', 'models'], { env })).to.include({ exitCode: 0 })
    expect(tokensSeen(service)).to.deep.equal(['key-two'])
    expect(runs()).to.equal(0)
  })

  it('is named if the service refuses its output, and does not run twice', async () => {
    const line = await signedIn(print('key-two'))
    expectFailure(await run(['chat', 'models']), 4, `Profile "work" gets it from the command: ${line}`)
    expect(runs()).to.equal(1)
  })

  it('is used only for the origin of its profile', async () => {
    await signedIn(print('key-one'))
    const other = await startBearerService(() => true)
    expectFailure(await run(['chat', 'models', '--profile', 'work', '--base-url', other.url]), 4)
    const set = await run(['config', 'set', 'base_url', other.url, '--profile', 'work'])
    expect(set.stderr).to.contain('is removed, because it was for another base URL')
    expect(readProfiles(sandbox).profiles?.['work']).to.deep.equal({ base_url: other.url })
    expect(other.requests).to.deep.equal([])
    await other.close()
    const below = `${service.url}/below`
    expect(await run(['config', 'set', 'base_url', service.url])).to.include({ exitCode: 0 })
    expect(await run(['config', 'set', 'credential_command', 'op read x'])).to.include({ exitCode: 0 })
    expect(await run(['config', 'set', 'base_url', below])).to.include({ exitCode: 0, stderr: '' })
    expect(readProfiles(sandbox).profiles?.['work']).to.include({ credential_command: 'op read x' })
    expect(await run(['config', 'unset', 'base_url'])).to.include({ exitCode: 0 })
    expect(readProfiles(sandbox).profiles?.['work']).to.deep.equal({})
  })

  it('is refused by config set if it needs a shell, or if the profile has no base URL', async () => {
    const set = (...words: string[]) => run(['config', 'set', 'credential_command', ...words])
    expectFailure(await set('op read x'), 2, 'profile "local" has none')
    await signedIn(print('key-one'))
    expectFailure(await set('cat key | head -1'), 2, 'it runs without a shell, but | needs one')
    expectFailure(await login('cat ~/key'), 2, 'it runs without a shell, but ~ needs one')
    expectFailure(await login('./key'), 2, 'another program in each directory')
    // As a user would in an editor.
    editProfile(sandbox, 'work', { credential_command: 'cat ~/key' })
    expectFailure(await run(['chat', 'models']), 2, 'it runs without a shell, but ~ needs one')
    const shown = (await run(['doctor'])).stdout
    expect(shown).to.contain('configuration\twarning\tProfile "work": credential_command')
  })

  it('replaces a stored sign-in and revokes its tokens, and an API key replaces it', async () => {
    await using server = await startAuthorizationServer()
    plantSignIn(sandbox, { server, service })
    expect(findCredentials(sandbox)).to.have.length(1)
    expect(await login(command(print('key-one')))).to.include({ exitCode: 0, stderr: '' })
    expect(server.revocations).to.have.length(1)
    expect(findCredentials(sandbox)).to.deep.equal([])
    expect(readProfiles(sandbox).profiles?.['work']).to.have.property('credential_command')
    await storeKey(sandbox, 'key-one', service)
    expect(readProfiles(sandbox).profiles?.['work']).not.to.have.property('credential_command')
    expect(await run(['chat', 'models'])).to.include({ exitCode: 0, stderr: '' })
    expect(runs()).to.equal(1)
  })

  it('replaces the stored key of a profile that has another credential command', async () => {
    await storeKey(sandbox, 'key-one', service)
    await run(['config', 'set', 'credential_command', 'op read x', '--profile', 'work'])
    expect(await login(command(print('key-one')))).to.include({ exitCode: 0, stderr: '' })
    expect(findCredentials(sandbox)).to.deep.equal([])
    expect(readProfiles(sandbox).profiles?.['work']).not.to.have.property('credential')
  })
})
