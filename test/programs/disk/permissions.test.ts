import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { programForAnyUser } from '../../support/any-user.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { perSuite } from '../../support/lifetime.ts'
import { runProgram } from '../../support/run-program.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { json, startScriptedServer } from '../../support/scripted-server.ts'
import { describeSample } from '../../support/take-sample.ts'
import { runAs, stranger } from './run-as.ts'

/** Needs root, and runs the program as another user, because no directory is read-only for root. */
describeSample('a user without permission', 2, () => {
  const sandbox = perSuite(createSandbox)
  let home: string
  before(() => {
    if (process.getuid?.() !== 0) throw new Error('run as root')
    chmodSync(sandbox.home, 0o755)
  })
  beforeEach(() => {
    home = mkdtempSync(join(sandbox.home, 'home-'))
    chownSync(home, stranger, stranger)
  })

  const run = (line: string, env: NodeJS.ProcessEnv = { HOME: home }) => runAs(stranger, line.split(' '), env)
  const runAsRoot = (line: string) => runProgram(sandbox, line.split(' '))
  const makeData = () => {
    const data = join(home, 'data')
    mkdirSync(data, { mode: 0o700 })
    chownSync(data, stranger, stranger)
    return data
  }
  const asStranger = () =>
    [
      'setpriv',
      `--reuid=${stranger}`,
      `--regid=${stranger}`,
      '--clear-groups',
      ...programForAnyUser(),
    ] as const

  it('can read with a read-only home directory, and gets an error for each write', () => {
    chmodSync(home, 0o555)
    expect(run('config list')).to.include({ exitCode: 0, stderr: '' })
    const keys = run('service keys list')
    expect(keys).to.include({ exitCode: 0, stdout: '' })
    expect(keys.stderr).to.match(/^No data in .* yet\n$/)
    expectFailure(run('chat send hi'), 1, home, '(EACCES)', 'Hint:  ')
    expectFailure(run('config set model x'), 1, home, 'permission denied (EACCES)', 'XDG_CONFIG_HOME')
    expect(readdirSync(home)).to.deep.equal([])
  })

  it('gets the name of a lock that root has left, and a hint to remove it', () => {
    expect(run('config set model x').exitCode).to.equal(0)
    const lock = join(home, '.config/chatctl/config.json.lock')
    writeFileSync(lock, '', { mode: 0o600 })
    const hint = 'Hint:  If no other chatctl process is running, remove the file.'
    expectFailure(run('config set model y'), 1, `Cannot open the lock ${lock}`, hint)
    rmSync(lock)
    expect(run('config set model y').exitCode).to.equal(0)
  })

  it('needs no readable home directory with address and key in the environment', async () => {
    await using server = await startScriptedServer(
      json(200, { theme: { mode: 'dark' }, response: 'Hi', context_id: 'c1' }),
    )
    chmodSync(home, 0)
    const env = { HOME: home, CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'test-key' }
    for (const line of [
      'settings get',
      'settings set theme.mode=dark',
      'settings api set --version v1',
      'users create --email ada@example.com --generate-password',
      'chat send Hello --no-stream',
    ]) {
      const { exitCode, stderr } = await runProgram(sandbox, line.split(' '), {
        env: { ...env, XDG_CACHE_HOME: undefined },
        program: asStranger(),
      })
      expect(exitCode, `${line}: ${stderr}`).to.equal(0)
    }
  })

  it('can use the data that root creates in the data directory of the service', async () => {
    const data = makeData()
    const made = await runAsRoot(`service keys create --name x --data ${data}`)
    expect(made.exitCode, made.stderr).to.equal(0)
    const list = run(`service keys list --data ${data} --jq .[].name`)
    expect(list).to.include({ exitCode: 0, stdout: 'x\n' })
    expect(run(`service keys create --name y --data ${data}`)).to.include({ exitCode: 0 })
  })

  it('can use a key file that belongs to root, and none of another user', async () => {
    await using server = await startScriptedServer(json(200, { data: [] }))
    const key = join(sandbox.home, 'key')
    writeFileSync(key, 'key', { mode: 0o644 })
    const env = { HOME: home, CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY_FILE: key }
    const models = () => runProgram(sandbox, ['chat', 'models'], { env, program: asStranger() })
    expect(await models()).to.include({ exitCode: 0 })
    chownSync(key, 1234, 1234)
    expectFailure(await models(), 4, 'it belongs to another user', `sudo chown ${stranger} ${key}`)
    expect(server.requests).to.have.length(1)
  })

  it('gains no access through a link in place of the data', async () => {
    const data = makeData()
    const precious = join(sandbox.home, 'precious')
    writeFileSync(precious, '')
    symlinkSync(precious, join(data, 'chatctl.db'))
    await runAsRoot(`service keys create --name x --data ${data}`)
    expect(statSync(precious).uid).to.equal(0)
  })

  it('gets an error for data that is read-only', () => {
    expect(run('chat send hi')).to.include({ exitCode: 0 })
    const data = join(home, '.local', 'share', 'chatctl')
    chmodSync(data, 0o500)
    chmodSync(join(data, 'chatctl.db'), 0o400)
    expectFailure(run('chat send hi'), 1, data, 'Hint:  ')
    chmodSync(join(data, 'chatctl.db'), 0o600)
    chmodSync(data, 0o700)
    expect(run('chat send hi')).to.include({ exitCode: 0 })
  })

  it('gets a hint if the state directory cannot be created, as in a container without HOME', () => {
    const rows = join(home, 'users.csv')
    writeFileSync(rows, 'email\nada@example.com\n')
    const env = { HOME: '/', CHATCTL_BASE_URL: 'http://127.0.0.1:9', CHATCTL_API_KEY: 'test-key' }
    const hint = 'To use another directory, set XDG_STATE_HOME.'
    expectFailure(
      run(`users import ${rows} --yes`, env),
      1,
      '/.local/state/chatctl',
      'permission denied',
      hint,
    )
    expectFailure(run('history export', env), 1, '/.local/state/chatctl', 'permission denied', hint)
  })

  it('gets a reply and a warning if the state directory cannot be written', () => {
    mkdirSync(join(home, '.local'))
    mkdirSync(join(home, '.local', 'share'))
    chownSync(join(home, '.local', 'share'), stranger, stranger)
    const sent = run('chat send hi --no-save')
    expect(sent.exitCode).to.equal(0)
    expect(sent.stdout).to.contain('built-in test program')
    expect(sent.stderr).to.contain('Warning: Cannot remember this conversation for --continue')
    const checks = JSON.parse(run('doctor --json').stdout)
    const [finding] = checks.filter(({ check }: { check: string }) => check === 'directories')
    expect(finding.status).to.equal('warning')
    expect(finding.hint).to.contain('XDG_STATE_HOME')
    expect(finding.message).to.contain('users import and history export fail')
  })

  it('gets an error for the data of another user from every command', async () => {
    await runAsRoot('chat send hi')
    const data = join(sandbox.home, '.local', 'share', 'chatctl')
    for (const line of ['keys list', 'keys create --name x', 'keys revoke x --yes', 'status', 'run --port 0'])
      expectFailure(run(`service ${line} --data ${data}`), 1, data, 'EACCES')
  })

  it('gets an error for an unreadable password file, key file, and configuration', async () => {
    const env = { HOME: home, CHATCTL_API_KEY_FILE: '/etc/shadow', CHATCTL_BASE_URL: 'http://127.0.0.1:9' }
    expectFailure(run('chat models', env), 4, '/etc/shadow: permission denied')
    expectFailure(
      run('users create -p local --password-file /etc/shadow'),
      2,
      '/etc/shadow: permission denied',
    )
    await runAsRoot('config set model x')
    const config = { HOME: home, XDG_CONFIG_HOME: join(sandbox.home, '.config') }
    expectFailure(run('config list', config), 2, 'config.json: permission denied')
  })

  it('gets an error for a privileged port', () => {
    const run1 = run(`service run --port 1 --data ${home}/data --log-level silent`)
    expectFailure(run1, 2, 'not allowed to listen on port 1', 'above 1023')
  })

  it('without an account needs HOME or the XDG variables', () => {
    expect(run('--version', {})).to.include({ exitCode: 0 })
    expectFailure(run('config list', {}), 2, 'No home directory', 'Set HOME')
    expectFailure(run('chat send hi', {}), 2, 'No home directory', 'Set HOME')
    const xdg = { XDG_CONFIG_HOME: home, XDG_DATA_HOME: home, XDG_STATE_HOME: home }
    expect(run('chat send hi', xdg)).to.include({ exitCode: 0 })
  })
})
