import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { UsersHandler } from '../../support/handlers/users.ts'
import { perTest } from '../../support/lifetime.ts'
import { type Run, runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { serveHandler } from '../../support/scripted-server.ts'

describe('an ID beside an email in a file of users', function () {
  this.timeout(60_000)
  const sandbox = perTest(createSandbox)
  const server = perTest(() => serveHandler(new UsersHandler()))
  const path = () => join(sandbox.home, 'users.csv')
  const emails = ['ada@x.org', 'bob@x.org', 'cid@x.org']
  let ids: string[]
  let sent: string[]

  beforeEach(() => {
    ids = emails.map((email) => server.add({ email }))
    sent = []
    server.onRequest = ({ method, path: at }) => {
      if (!at.endsWith('/profile')) sent.push(`${method} ${at}`)
    }
  })

  const write = (owners: readonly string[], role = 'admin') =>
    writeFileSync(
      path(),
      `id,email,role\n${owners.map((email, at) => `${ids[at]},${email},${role}\n`).join('')}`,
    )
  const importing = (...flags: string[]): Promise<Run> =>
    runChatctl(sandbox, ['users', 'import', path(), '--yes', '--json', ...flags], { service: server })
  const reads = () => sent.filter((request) => request.startsWith('GET ')).length

  it('is read once, before the first change, and then known', async () => {
    write(emails)
    const dry = await importing('--dry-run')
    expect(JSON.parse(dry.stdout)).to.include({ rows: 3, reads: 3, assignments: 3, requests: 6 })
    const done = await importing()
    expect(done.exitCode, done.stderr).to.equal(0)
    expect(done.stderr).to.contain('3 rows, 6 requests: 3 reads, 3 assignments')
    expect(sent.map((request) => request.split(' ')[0])).to.deep.equal([
      'GET',
      'GET',
      'GET',
      'POST',
      'POST',
      'POST',
    ])
    sent.length = 0
    write(emails, 'editor')
    expect(JSON.parse((await importing()).stdout)).to.include({ updated: 3, requests: 3 })
    expect(reads()).to.equal(0)
    // The service may know better than the ledger.
    write([...emails.slice(1), 'ada@x.org'])
    sent.length = 0
    expect(await importing()).to.include({ exitCode: 2, stdout: '' })
    expect(reads()).to.equal(sent.length)
  })

  it('changes nobody if a column is shifted', async () => {
    write([...emails.slice(1), 'ada@x.org'])
    const run = await importing()
    expect(run).to.include({ exitCode: 2, stdout: '' })
    expect(run.stderr).to.contain('Nothing was sent').and.contain(`has the email \\"ada@x.org\\"`)
    expect(server.report().assignments.size).to.equal(0)
    expect([sent.length, reads()]).to.deep.equal([3, 3])
  })

  it('is skipped with --skip-invalid if it is wrong', async () => {
    write(['ada@x.org', 'cid@x.org', 'bob@x.org'])
    const run = await importing('--skip-invalid')
    expect(run.exitCode).to.equal(9)
    expect(JSON.parse(run.stdout)).to.include({ updated: 1, skipped: 2 })
    expect([...server.report().assignments.keys()]).to.deep.equal([ids[0]])
    expect(readFileSync(join(sandbox.home, 'users.failed.csv'), 'utf8')).to.contain('cid@x.org')
  })
})
