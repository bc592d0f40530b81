import fs, { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { parse } from 'csv-parse/sync'
import { perTest } from '../../support/lifetime.ts'
import { ledgersOf } from '../../support/recorded-changes.ts'
import { type HostOptions, type Run, runChatctl, startChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import {
  answer,
  type Behavior,
  json,
  limited,
  type RecordedRequest,
  reset,
  resetMidBody,
  startScriptedServer,
} from '../../support/scripted-server.ts'
import { failing } from '../../system/failing.ts'
import { replacingCalls } from '../../system/replacing-calls.ts'

describe('the outcome of a request of an import', function () {
  this.timeout(60_000)
  const sandbox = perTest(createSandbox)
  let behave: (request: RecordedRequest, count: number) => Behavior
  const server = perTest(() => {
    let count = 0
    return startScriptedServer({
      choose: (request) => {
        if (request.method !== 'GET') return behave(request, ++count)
        return request.path.startsWith('/v1/users/') ? read : json(200, {})
      },
    })
  })
  /** Of a user. */
  let read: Behavior
  let path: string
  beforeEach(() => {
    read = json(200, {})
    path = join(sandbox.home, 'users.csv')
    writeFileSync(path, 'email\na@example.com\n')
  })

  const options = (): HostOptions => ({ service: server, timeout: 50_000 })
  const args = (flags: readonly string[]) => [
    ...['users', 'import', path, '--yes', '--json', '--results', join(sandbox.home, 'results.csv')],
    ...flags,
  ]
  const run = (...flags: string[]): Promise<Run> => runChatctl(sandbox, args(flags), options())
  const rows = (): Record<string, string>[] =>
    parse(readFileSync(join(sandbox.home, 'results.csv')), { columns: true })
  const statuses = () => rows().map(({ status }) => status)
  const sent = () => server.requests.filter(({ method }) => method !== 'GET').length

  it('is not unknown after a 429, also if Ctrl-C ends the wait', async () => {
    behave = () => limited({ 'retry-after': '30' })
    const running = startChatctl(sandbox, args([]), options())
    await waitUntil(() => sent() > 0)
    await new Promise((resolve) => setTimeout(resolve, 300))
    running.interrupt()
    expect(await running.ended).to.include({ exitCode: 130 })
    expect(statuses()).to.deep.equal(['skipped'])
  })

  it('is resolved only with an ID whose email the service shows, or does not show', async () => {
    behave = () => reset
    expect((await run()).exitCode).to.equal(9)
    const resolve = () => run('--on-unknown', 'created', '--id', 'usr_1', '--retries', '0')
    for (const [user, exitCode] of [
      [answer(404), 2],
      [json(200, { id: 'usr_1', email: 'eve@example.com' }), 2],
      [json(200, {}), 0],
    ] as const) {
      read = user
      const settled = await resolve()
      expect(settled.exitCode, settled.stderr).to.equal(exitCode)
    }
    expect(statuses()).to.deep.equal(['created'])
  })

  it('is called unknown once in the results after a redirect', async () => {
    writeFileSync(path, 'id,name\nusr_1,Ada\n')
    behave = () => answer(302, { location: 'https://elsewhere.example/' })
    expect((await run()).exitCode).to.equal(9)
    expect(rows()[0]?.['error']).to.match(/^the outcome of the update is unknown: 302: http.* redirects to /)
  })

  it('is explained in the results of a skipped row', async () => {
    behave = () => reset
    expect((await run()).exitCode).to.equal(9)
    await run('--on-unknown', 'skip')
    expect(rows()[0]).to.have.property('error', 'skipped on request')
  })

  it('stays unknown if the retry of a create was not sent', async () => {
    behave = (_, count) => (count === 1 ? reset : limited({ 'retry-after': '30' }))
    expect((await run()).exitCode).to.equal(9)
    expect((await run('--on-unknown', 'retry', '--max-wait', '1s')).exitCode).to.equal(75)
    expect(statuses()).to.deep.equal(['unknown'])
    behave = () => json(409, { error: { code: 'taken', message: 'The email exists' } })
    const before = sent()
    expect((await run()).exitCode).to.equal(9)
    expect(sent()).to.equal(before)
    expect((await run('--on-unknown', 'retry')).exitCode).to.equal(0)
    expect(statuses()).to.deep.equal(['created'])
  })

  it('is in the results although the ledger can no longer be written, and nothing else is sent', async () => {
    writeFileSync(path, 'email\na@example.com\nb@example.com\nc@example.com\n')
    let full: Promise<void> | undefined
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    behave = () => {
      full = failing.call('writeSync', () => ended)
      return json(201, { id: 'usr_1' })
    }
    const { exitCode, stdout, stderr } = await run('--concurrency', '1')
    end()
    await full
    expect({ exitCode, sent: sent() }, stderr).to.deep.equal({ exitCode: 1, sent: 1 })
    expect(stderr).to.contain('2 rows are left').and.to.contain('(ENOSPC)')
    expect(JSON.parse(stdout)).to.deep.include({ created: 1, unknown: 0, remaining: 2 })
    const shown = rows().map(({ id, status }) => `${status} ${id}`)
    expect(shown).to.deep.equal(['created usr_1', 'skipped ', 'skipped '])
    behave = (_, count) => json(201, { id: `usr_${count}` })
    expect((await run()).exitCode).to.equal(0)
    expect(statuses()).to.deep.equal(['created', 'created', 'created'])
  })

  it('is known after a flush of the ledger has failed, and nothing more is sent, although the next flush would succeed', async () => {
    writeFileSync(path, 'email\na@example.com\nb@example.com\nc@example.com\nd@example.com\ne@example.com\n')
    behave = (_, count) => json(201, { id: `usr_${count}` })
    const ledger = () => readFileSync(ledgersOf(sandbox)[0] ?? '', 'utf8')
    const failed = Object.assign(new Error('broken disk'), { code: 'EIO', errno: -5 })
    const real = fs.fdatasync
    let hasFailed = false
    const fdatasync = async (file: number, done: fs.NoParamCallback) => {
      if (hasFailed || !ledger().includes('d@example.com')) return real(file, done)
      hasFailed = true
      await waitUntil(() => ledger().includes('e@example.com'))
      done(failed)
    }
    const { exitCode, stdout, stderr } = await replacingCalls({ fdatasync }, () => run('--concurrency', '2'))
    expect({ exitCode, sent: sent() }, stderr).to.deep.equal({ exitCode: 1, sent: 3 })
    expect(stderr).to.contain('2 rows are left').and.to.contain('(EIO)')
    expect(JSON.parse(stdout)).to.deep.include({ created: 3, unknown: 0, remaining: 2 })
    expect((await run()).exitCode).to.equal(0)
    expect(sent()).to.equal(5)
  })

  it('is counted although the results file can no longer be written, and written by the next run', async () => {
    writeFileSync(path, 'email,role\na@example.com,editor\n')
    const out = join(sandbox.home, 'out')
    mkdirSync(out)
    const results = join(out, 'results.csv')
    behave = ({ path }) => {
      if (!path.endsWith('/permissions')) return json(201, { id: 'usr_1' })
      renameSync(out, `${out}-gone`)
      return json(200, {})
    }
    const line = ['users', 'import', path, '--yes', '--json', '--results', results, '--generate-passwords']
    const importing = () => runChatctl(sandbox, line, options())
    const { exitCode, stdout, stderr } = await importing()
    expect(exitCode, stderr).to.equal(1)
    expect(JSON.parse(stdout)).to.include({ created: 1, remaining: 0 }).and.not.to.have.property('results')
    expect(stderr).to.contain(`Cannot write ${results}`).and.to.contain('To write the results, run the same')
    renameSync(`${out}-gone`, out)
    const before = sent()
    expect((await importing()).exitCode).to.equal(0)
    expect([sent(), readFileSync(results, 'utf8').includes(',created,')]).to.deep.equal([before, true])
  })

  it('can be resolved for one of several rows on a line', async () => {
    path = join(sandbox.home, 'users.json')
    const emails = ['a@example.com', 'b@example.com', 'c@example.com']
    writeFileSync(path, JSON.stringify(emails.map((email) => ({ email, role: 'editor' }))))
    behave = () => reset
    const first = await run()
    const commands = [...first.stderr.matchAll(/--on-unknown created --line (\d+:\d+)/g)].map(
      ([, place]) => place,
    )
    expect(new Set(commands).size).to.equal(3)
    const [, second = ''] = commands
    behave = () => json(200, {})
    const refusal = async (...flags: string[]): Promise<string> => {
      const done = await run(...flags)
      expect(done.exitCode).to.equal(2)
      return done.stderr
    }
    const shown = await refusal('--on-unknown', 'created', '--id', 'u2', '--line', '1')
    expect(shown).to.contain('3 rows have an unknown outcome, but an id can be given for only one row')
    const seen = await refusal('--on-unknown', 'created', '--id', '..', '--line', second)
    expect(seen).to.contain('The id must not')
    const listed = await refusal('--on-unknown', 'skip', '--line', '1:1')
    expect(listed).to.contain(`Choose the row with --line: ${commands.join(', ')}`)
    const actual = await refusal('--on-unknown', 'skip', '--line', '12')
    expect(actual).to.contain('users.json has no row at line 12"')
    await run('--on-unknown', 'created', '--id', 'u2', '--line', second)
    expect(rows().map(({ id, status }) => [id, status])).to.deep.equal([
      ['', 'unknown'],
      ['u2', 'created'],
      ['', 'unknown'],
    ])
    const [sent] = server.requests.filter(({ path }) => path.endsWith('/permissions'))
    expect(sent?.path).to.equal('/v1/users/u2/permissions')
  })

  it('is counted as it will be resolved, before the confirmation prompt', async () => {
    writeFileSync(path, 'email,role\na@example.com,editor\n')
    behave = () => reset
    await run()
    const counted = async (...flags: string[]) =>
      JSON.parse((await run('--dry-run', '--on-unknown', ...flags)).stdout)
    expect(await counted('skip')).to.include({ creates: 0, assignments: 0, requests: 0 })
    expect(await counted('created', '--id', 'u')).to.include({ reads: 1, assignments: 1, requests: 2 })
    expect(await counted('retry')).to.include({ creates: 1, assignments: 1, requests: 2 })
  })

  it('cannot be resolved with retry if the user is known to exist', async () => {
    writeFileSync(path, 'email,role\na@example.com,editor\n')
    behave = () => answer(201)
    const done = await run()
    expect(done.stderr).to.contain('--on-unknown created').and.not.to.contain('retry')
  })

  it('is reported also if the file of failed rows cannot be written', async () => {
    path = join(sandbox.home, `${'n'.repeat(245)}.csv`)
    writeFileSync(path, 'email\na@example.com\nb@example.com\n')
    behave = ({ body }) => (body.includes('a@') ? reset : json(422, {}))
    const done = await run()
    expect(done.exitCode).to.equal(9)
    expect(done.stderr).to.contain('Cannot write the file of failed rows')
    expect(done.stderr).to.contain('a@example.com) is unknown')
    expect(statuses()).to.deep.equal(['unknown', 'failed'])
  })

  it('is unknown for a create whose response has the ID of another row, and nothing is assigned to that user', async () => {
    const emails = (...names: string[]) => names.map((name) => `${name}@example.com,admin\n`).join('')
    writeFileSync(path, `email,role\n${emails('a', 'b')}`)
    behave = ({ path: at }) => (at === '/v1/users' ? json(201, { id: 'u1' }) : json(200, {}))
    const first = await run('--concurrency', '1', '--state', join(sandbox.home, 'users.state.json'))
    expect(first.exitCode, first.stderr).to.equal(9)
    expect(first.stderr).to.contain(
      'the user was created, but the response has the ID \\"u1\\", which the user a@example.com has',
    )
    writeFileSync(path, `email,role\n${emails('a', 'b', 'c')}`)
    expect((await run()).exitCode).to.equal(9)
    expect(rows().map(({ id, status }) => [id, status])).to.deep.equal([
      ['u1', 'created'],
      ['', 'unknown'],
      ['', 'unknown'],
    ])
    expect(server.requests.filter(({ path }) => path.endsWith('/permissions'))).to.have.length(1)
    const { users } = JSON.parse(readFileSync(join(sandbox.home, 'users.state.json'), 'utf8'))
    const shown = users.map(({ id, creation }: Record<string, string>) => id ?? creation)
    expect(shown).to.deep.equal(['u1', 'nameless'])
    // Also if another import has created the user of that row.
    path = join(sandbox.home, 'others.csv')
    writeFileSync(path, `email,role\n${emails('d', 'a')}`)
    await run()
    expect(rows().map(({ id, status }) => [id, status])).to.deep.equal([
      ['', 'unknown'],
      ['u1', 'created'],
    ])
  })

  it('is failed for a create whose response has another name, which no other import sends again', async () => {
    behave = () => json(201, { id: 'u1', name: 'Eve' })
    writeFileSync(path, 'email,name\na@example.com,Ada\n')
    expect((await run()).stderr).to.contain('expected \\"Ada\\", found \\"Eve\\"')
    const before = sent()
    path = join(sandbox.home, 'copy.csv')
    writeFileSync(path, 'name,email\nAda,a@example.com\n')
    expect((await run()).exitCode).to.equal(0)
    expect(rows()[0]).to.include({ id: 'u1', status: 'created' })
    expect(sent()).to.equal(before)
  })

  it('is failed for a row whose ID is that of another user, before its role is assigned', async () => {
    writeFileSync(
      path,
      'id,email,name,role\nu1,a@example.com,A,admin\nu2,b@example.com,,admin\nu3,C@example.com,C,admin\n',
    )
    const others = { u1: 'z@example.com', u2: 'y@example.com', u3: 'c@example.com' }
    behave = ({ path: at }) => json(200, { email: others[at.split('/')[3] as 'u1'] })
    expect(await run('--state', join(sandbox.home, 'users.state.json'))).to.include({ exitCode: 9 })
    expect(rows().map(({ id, status }) => [id, status])).to.deep.equal([
      ['u1', 'failed'],
      ['u2', 'failed'],
      ['u3', 'updated'],
    ])
    expect(rows()[0]?.['error']).to.equal(
      'the request changed another user: the response has the email "z@example.com", not "a@example.com"',
    )
    const shown = server.requests.map(({ method, path: at }) => `${method} ${at}`)
    expect(shown).not.to.include('POST /v1/users/u1/permissions')
    const { users } = JSON.parse(readFileSync(join(sandbox.home, 'users.state.json'), 'utf8'))
    expect(users.map(({ email }: Record<string, string>) => email)).to.deep.equal(['C@example.com'])
  })

  const answers: [name: string, status: 'created' | 'failed' | 'unknown', behavior: Behavior][] = [
    ['201 with an id', 'created', json(201, { id: 'u1' })],
    ['202 with an id', 'unknown', json(202, { id: 'u1' })],
    ['200 with a web page', 'unknown', answer(200, { 'content-type': 'text/html' }, '<html>')],
    ['200 that reports a failure', 'failed', json(200, { success: false })],
    ['201 with an id and an error', 'unknown', json(201, { id: 'u1', error: 'no mail was sent' })],
    ['a truncated 201', 'unknown', resetMidBody('{"id":', 201)],
    ['400', 'failed', json(400, {})],
    ['500', 'unknown', answer(500)],
    ['503 with Retry-After', 'unknown', answer(503, { 'retry-after': '0' })],
  ]
  for (const [name, status, behavior] of answers)
    it(`is ${status} after ${name}`, async () => {
      behave = () => behavior
      expect(await run()).to.include({ exitCode: status === 'created' ? 0 : 9 })
      expect(statuses()).to.deep.equal([status])
      const before = sent()
      await run()
      expect(sent() - before).to.equal(status === 'failed' ? before : 0)
    })

  const places: [headers: Record<string, string>, id: string | undefined][] = [
    [{ location: '/v1/users/u1' }, 'u1'],
    [{ location: 'users/u%2F1/' }, 'u/1'],
    [{ location: '/v1/users/' }, undefined],
    [{ location: '/v1/users/%ff' }, undefined],
  ]
  for (const [headers, id] of places)
    it(`names the user ${id ?? 'nowhere'} for the Location ${headers['location']}`, async () => {
      writeFileSync(path, 'email,role\na@example.com,editor\n')
      behave = (_, count) => (count === 1 ? json(201, {}, headers) : json(200, {}))
      await run()
      expect(rows()[0]).to.include({ status: id ? 'created' : 'unknown', id: id ?? '' })
      const [, second] = server.requests.filter(({ method }) => method !== 'GET')
      expect(second?.path).to.equal(id && `/v1/users/${encodeURIComponent(id)}/permissions`)
    })
})

async function waitUntil(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 10))
}
