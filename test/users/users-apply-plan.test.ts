import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { expectFailure } from '../support/expect-failure.ts'
import { UsersHandler } from '../support/handlers/users.ts'
import { perTest } from '../support/lifetime.ts'
import { runChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'
import { serveHandler } from '../support/scripted-server.ts'

describe('users apply with a saved plan', function () {
  this.timeout(30_000)
  const sandbox = perTest(createSandbox)
  const server = perTest(() => serveHandler(new UsersHandler()))

  const write = (...rows: object[]) =>
    writeFileSync(join(sandbox.home, 'users.json'), JSON.stringify(rows, null, 1))
  const run = (...words: string[]) => runChatctl(sandbox, ['users', ...words], { service: server })
  const apply = (...flags: string[]) => run('apply', 'users.plan', '--yes', ...flags)
  const plan = async (...rows: object[]) => {
    write(...rows)
    expect(await run('diff', 'users.json', '--save', 'users.plan')).to.include({ exitCode: 0 })
  }
  const applied = async (...rows: object[]) => {
    write(...rows)
    expect(await run('apply', 'users.json', '--yes', '--no-password')).to.include({ exitCode: 0 })
  }
  const names = () => [...server.report().users.values()].map(({ name }) => name)
  const ada = { email: 'ada@example.com', name: 'Ada', role: 'admin' }
  const bob = { email: 'bob@example.com', name: 'Bob' }

  it('sends what the plan has, also if the files have changed since, and only once', async () => {
    await plan(ada)
    write({ ...ada, name: 'Eve' }, bob)
    const done = await apply('--no-password')
    expect(done.stdout, done.stderr).to.match(/^Done: created 1 user\.\n/)
    expect(names()).to.deep.equal(['Ada'])
    expectFailure(await apply('--no-password'), 7, 'The plan users.plan was already applied', '--save PLAN')
    expect(names()).to.deep.equal(['Ada'])
    expect(JSON.parse(readFileSync(join(sandbox.home, 'users.state.json'), 'utf8')).users).to.have.length(1)
  })

  it('can still apply a plan if nothing was sent because the service was not reachable', async () => {
    await applied(bob)
    await plan({ ...bob, name: 'Robert' })
    await server.close()
    expectFailure(await apply('--retries', '0'), 69, 'Cannot reach')
    await server.open()
    expect((await apply()).stdout).to.equal('Done: changed 1 user.\n')
  })

  it('refuses a plan whose state file has changed since, and the users whose entries changed in the same generation', async () => {
    await applied(ada, bob)
    await plan({ ...ada, role: 'member' }, { ...bob, name: 'Robert' }, { email: 'eve@example.com' })
    await applied({ ...ada, role: 'editor' }, bob, { email: 'eve@example.com' })
    expectFailure(await apply('--no-password'), 7, 'users.plan was saved (serial 1, now 2)', '--state')
    // As after a killed run, whose changes are in the state journal.
    const state = join(sandbox.home, 'users.state.json')
    writeFileSync(state, readFileSync(state, 'utf8').replace('"serial":2', '"serial":1'))
    const done = await apply('--no-password')
    expect(done.exitCode).to.equal(7)
    expect(done.stderr).to.contain(
      'ada@example.com: changed since the comparison: the last sent value of role has changed',
    )
    expect(done.stderr).to.match(/eve@example\.com: .* contains this user with the id/)
    expect(done.stdout).to.equal('Done: changed 1 user.\n')
    expect(names()).to.include('Robert')
  })

  it('creates no user if the state file of the plan is missing, or is an earlier one', async () => {
    await applied(ada)
    const state = join(sandbox.home, 'users.state.json')
    const earlier = readFileSync(state, 'utf8')
    await applied(ada, bob)
    await plan(ada, bob, { email: 'eve@example.com' })
    for (const path of [state, `${state}.backup`]) rmSync(path)
    const missing = await apply('--no-password')
    expectFailure(missing, 7, 'The plan users.plan was made with the state file users.state.json, which')
    expect(missing.stderr).to.include('does not exist')
    writeFileSync(state, earlier)
    const older = await apply('--no-password')
    expectFailure(older, 7, 'The state file users.state.json has changed since the plan', '--state')
    expect(server.report().users.size).to.equal(2)
  })

  it('refuses a user that was changed on the service since', async () => {
    await applied(bob)
    await plan({ ...bob, name: 'Robert' })
    for (const user of server.report().users.values()) user.name = 'Eve'
    const done = await apply()
    expect(done.exitCode).to.equal(7)
    expect(done.stderr).to.contain('changed since the comparison: name was "Bob" and is now "Eve"')
    expect(names()).to.deep.equal(['Eve'])
  })

  it('refuses a plan of another service, and a changed plan', async () => {
    await plan(ada)
    const path = join(sandbox.home, 'users.plan')
    const other = await runChatctl(sandbox, ['users', 'apply', 'users.plan', '--yes', '--no-password'], {
      env: { CHATCTL_BASE_URL: 'http://127.0.0.1:1', CHATCTL_API_KEY: 'some-api-key' },
    })
    expectFailure(other, 7, 'The plan users.plan is for', 'not for http://127.0.0.1:1/')
    writeFileSync(path, readFileSync(path, 'utf8').replace('Ada', 'Eve'))
    expectFailure(await apply('--no-password'), 2, 'users.plan was changed or truncated')
    expect(names()).to.deep.equal([])
  })

  it('shows the plan with --dry-run, and can then be applied', async () => {
    await plan(ada)
    expect((await apply('--dry-run')).stdout).to.contain('+ create ada@example.com')
    expect(existsSync(join(sandbox.home, 'users.state.json'))).to.equal(false)
    expect((await apply('--no-password')).exitCode).to.equal(0)
  })
})

describe('users apply after a lost response to a create', function () {
  this.timeout(30_000)
  const sandbox = perTest(createSandbox)
  const server = perTest(() => serveHandler(new UsersHandler({ fates: { lost: 1 } })))
  const run = (...words: string[]) => runChatctl(sandbox, ['users', ...words], { service: server })
  const apply = (...flags: string[]) => run('apply', 'users.csv', '--yes', '--no-password', ...flags)
  const creates = () => server.report().creates.get('ada@example.com')?.met

  beforeEach(() => writeFileSync(join(sandbox.home, 'users.csv'), 'email\nada@example.com\n'))

  it('does not send it again, and the command that it prints records the user', async () => {
    const lost = await apply()
    expect(lost.exitCode).to.equal(9)
    expect(lost.stderr).to.contain('users.csv:2: ada@example.com: the outcome of the creation is unknown: ')
    server.endFates()
    const again = await apply()
    expect(again.exitCode).to.equal(9)
    expect(creates()).to.deep.equal(['lost'])
    const [, adopt = ''] = /chatctl users (adopt ada@example\.com=)ID/.exec(again.stderr) ?? []
    const [id = ''] = server.report().users.keys()
    expect((await run(...`${adopt}${id} --state users.state.json`.split(' '))).exitCode).to.equal(0)
    expect((await apply()).stdout).to.equal('No changes.\n')
  })

  it('sends it again with --retry-unknown, and reports a 409', async () => {
    await apply()
    server.endFates()
    const taken = await apply('--retry-unknown')
    expect(taken.exitCode).to.equal(9)
    expect(taken.stderr).to.contain('409: ').and.to.contain('chatctl users adopt ada@example.com=ID')
    expect(creates()).to.deep.equal(['lost', 409])
    expect((await apply('--retry-unknown')).exitCode).to.equal(9)
    expect(creates()).to.deep.equal(['lost', 409])
  })
})
