import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { hashOfField } from '../../src/contract/managed-fields.ts'
import { UsersHandler } from '../support/handlers/users.ts'
import { perTest } from '../support/lifetime.ts'
import { runChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'
import { serveHandler } from '../support/scripted-server.ts'

describe('users as code, for users that only the ledger has', function () {
  this.timeout(30_000)
  const sandbox = perTest(createSandbox)
  const server = perTest(() => serveHandler(new UsersHandler({ allowsDuplicates: true })))
  const path = (name: string) => join(sandbox.home, name)
  const chatctl = (...words: string[]) => runChatctl(sandbox, ['users', ...words], { service: server })
  const apply = (...flags: string[]) => chatctl('apply', 'users.csv', '--yes', ...flags)
  const entries = (): { email: string; id?: string }[] =>
    JSON.parse(readFileSync(path('users.state.json'), 'utf8')).users
  const creates = () => server.report().creates.get('ada@example.com')?.met.length
  const write = (text: string) => writeFileSync(path('users.csv'), text)

  /** Imports a file, without a state file. @returns the ID of the only user */
  async function imported(text = 'email,name\nada@example.com,Ada\n'): Promise<string> {
    write(text)
    expect((await chatctl('import', 'users.csv', '--yes')).stdout).to.match(/created\s+1\n/)
    return [...server.report().users.keys()].at(-1) ?? ''
  }

  it('adopts the users of an import instead of creating them again', async () => {
    const id = await imported()
    const diff = await chatctl('diff', 'users.csv', '--exit-code')
    expect(diff.stdout).to.contain(`= adopt ada@example.com  ${id}\n\n1 to adopt.`)
    expect(diff.exitCode).to.equal(10)
    expect(existsSync(path('users.state.json'))).to.equal(false)
    expect(await apply()).to.include({ stdout: 'Done: adopted 1 user.\n' })
    expect(entries()).to.deep.equal([
      { email: 'ada@example.com', id, hashes: { name: hashOfField('name', 'Ada') } },
    ])
    expect((await apply()).stdout).to.equal('No changes.\n')
    expect(creates()).to.equal(1)
  })

  it('changes what differs of an adopted user, also from a saved plan and without reads before', async () => {
    const id = await imported()
    write('email,name,role\nada@example.com,Ada L.,admin\n')
    const diff = await chatctl('diff', 'users.csv', '--save', 'users.plan', '--json')
    expect(JSON.parse(diff.stdout).users[0]).to.deep.include({
      action: 'adopt',
      id,
      changes: [
        { path: 'name', from: 'Ada', to: 'Ada L.' },
        { path: 'role', from: null, to: 'admin', compared_with: 'unknown' },
      ],
    })
    const run = await chatctl('apply', 'users.plan', '--yes', '--json')
    expect(JSON.parse(run.stdout).users[0], run.stderr).to.deep.include({
      action: 'adopt',
      outcome: 'changed',
    })
    expect(server.report().users.get(id)).to.include({ name: 'Ada L.' })
    expect((await apply()).stdout).to.equal('No changes.\n')
    const other = await apply('--state', 'other.json', '--no-refresh')
    expect(other.stdout, other.stderr).to.match(/^Done: adopted 1 user\.\n/)
    expect(creates()).to.equal(1)
  })

  it('are adopted by a saved plan on another machine', async () => {
    const id = await imported()
    write('email,name\nada@example.com,Ada L.\n')
    await chatctl('diff', 'users.csv', '--save', 'users.plan')
    rmSync(path('.local/state'), { recursive: true })
    const run = await chatctl('apply', 'users.plan', '--yes')
    expect(run.stdout, run.stderr).to.equal('Done: changed 1 user.\n')
    expect(entries()[0]).to.include({ id })
    expect([server.report().users.get(id)?.name, creates()]).to.deep.equal(['Ada L.', 1])
  })

  it('does not create a user of a saved plan who was created since', async () => {
    write('email\nada@example.com\n')
    await chatctl('diff', 'users.csv', '--save', 'users.plan')
    await imported()
    const run = await chatctl('apply', 'users.plan', '--yes', '--no-password')
    expect(run.exitCode).to.equal(7)
    expect(run.stderr).to.contain('the ledger on this machine now contains this user with the id')
    expect(creates()).to.equal(1)
  })

  it('does not adopt a user who has another email on the service', async () => {
    const id = await imported()
    const user = server.report().users.get(id)
    if (user) user.email = 'eve@example.com'
    for (const flags of [[], ['--no-refresh']]) {
      const run = await apply(...flags)
      expect(run.stderr).to.match(/the user "?usr_\w+"? has the email "?eve@example\.com"?/i)
      expect(run.exitCode).to.be.oneOf([7, 9])
    }
    expect(entries).to.throw()
    expect(creates()).to.equal(1)
  })

  it('creates a user who was deleted since only with --recreate-missing', async () => {
    server.remove(await imported())
    const run = await apply('--no-password')
    expect(run.exitCode).to.equal(9)
    expect(run.stderr)
      .to.contain('the service no longer has this user (404)')
      .and.contain('--recreate-missing')
    expect((await apply('--no-password', '--recreate-missing')).stdout).to.equal('Done: created 1 user.\n')
    expect(creates()).to.equal(2)
  })

  it('names the IDs of a user who was created more than once', async () => {
    const first = await imported()
    await chatctl('create', '--email', 'ada@example.com', '--no-password', '--allow-duplicates')
    const second = [...server.report().users.keys()].at(-1)
    const run = await apply()
    expect(run.exitCode).to.equal(9)
    expect(run.stderr).to.contain(
      `created more than once from this machine, with the IDs "${second}" and "${first}"`,
    )
    expect(creates()).to.equal(2)
  })

  it('shows a create with an unknown outcome, and sends it again only with --retry-unknown', async () => {
    server.fates = { lost: 1 }
    write('email\nada@example.com\n')
    await chatctl('import', 'users.csv', '--yes')
    server.endFates()
    const shown = (await chatctl('diff', 'users.csv')).stdout
    expect(shown).to.contain('? ada@example.com unknown: it may or may not exist')
    expect((await apply('--no-password')).exitCode).to.equal(9)
    expect(creates()).to.equal(1)
    expect((await apply('--no-password', '--retry-unknown')).stdout).to.equal('Done: created 1 user.\n')
    expect(creates()).to.equal(2)
  })
})
