import fs, { mkdirSync, readFileSync, renameSync } from 'node:fs'
import { expect } from 'chai'
import { expectSuccess } from '../../support/expect-failure.ts'
import { perTest } from '../../support/lifetime.ts'
import { ledgersOf } from '../../support/recorded-changes.ts'
import { type Run, startChatctl } from '../../support/run-chatctl.ts'
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
import { until } from '../../support/until.ts'
import { failing } from '../../system/failing.ts'
import { replacingCalls } from '../../system/replacing-calls.ts'
import { printedBy, runAgainst } from '../users-run.ts'

describe('the outcome of a request of an import', function () {
  this.timeout(60_000)
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
  const home = runAgainst(server)
  const { rows, entries, changes } = home
  /** Of a user. */
  let read: Behavior
  let path: string
  const write = (text: string, name = 'users.csv') => {
    path = home.write(name, text)
  }
  beforeEach(() => {
    read = json(200, {})
    write('email\na@example.com\n')
  })

  const args = (flags: readonly string[]) => [
    ...['users', 'import', path, '--yes', '--json', '--results', 'results.csv'],
    ...flags,
  ]
  const run = (...flags: string[]): Promise<Run> => home.chatctl(args(flags))
  const fails = async (...flags: string[]): Promise<Run> => {
    const done = await run(...flags)
    expect(done.exitCode, done.stderr).to.equal(9)
    return done
  }
  const statuses = () => rows().map(({ status }) => status)
  const known = () => rows().map(({ id, status }) => `${id} ${status}`.trim())
  const sent = () => changes().length
  const emails = (...names: string[]) => names.map((name) => `${name}@example.com\n`).join('')
  const state = ['--state', 'users.state.json']

  it('is not unknown after a 429, also if Ctrl-C ends the wait', async () => {
    behave = () => limited({ 'retry-after': '30' })
    const running = startChatctl(home.sandbox, args([]), { service: server })
    await until(() => sent() > 0)
    await new Promise((resolve) => setTimeout(resolve, 300))
    running.interrupt()
    expect(await running.ended).to.include({ exitCode: 130 })
    expect(statuses()).to.deep.equal(['skipped'])
  })

  it('is resolved only with an ID whose email the service shows, or does not show', async () => {
    behave = () => reset
    await fails()
    for (const [user, exitCode] of [
      [answer(404), 2],
      [json(200, { id: 'usr_1', email: 'eve@example.com' }), 2],
      [json(200, {}), 0],
    ] as const) {
      read = user
      const settled = await run('--on-unknown', 'created', '--id', 'usr_1', '--retries', '0')
      expect(settled.exitCode, settled.stderr).to.equal(exitCode)
    }
    expect(statuses()).to.deep.equal(['created'])
  })

  it('is called unknown once in the results after a redirect', async () => {
    write('id,name\nusr_1,Ada\n')
    behave = () => answer(302, { location: 'https://elsewhere.example/' })
    await fails()
    expect(rows()[0]?.['error']).to.match(/^the outcome of the update is unknown: 302: http.* redirects to /)
  })

  it('is explained in the results of a skipped row', async () => {
    behave = () => reset
    await fails()
    await run('--on-unknown', 'skip')
    expect(rows()[0]).to.have.property('error', 'skipped on request')
  })

  it('stays unknown if the retry of a create was not sent', async () => {
    behave = (_, count) => (count === 1 ? reset : limited({ 'retry-after': '30' }))
    await fails()
    expect((await run('--on-unknown', 'retry', '--max-wait', '1s')).exitCode).to.equal(75)
    expect(statuses()).to.deep.equal(['unknown'])
    behave = () => json(409, { error: { code: 'taken', message: 'The email exists' } })
    const before = sent()
    await fails()
    expect(sent()).to.equal(before)
    expectSuccess(await run('--on-unknown', 'retry'))
    expect(statuses()).to.deep.equal(['created'])
  })

  it('is in the results although the ledger can no longer be written, and nothing else is sent', async () => {
    write(`email\n${emails('a', 'b', 'c')}`)
    let full: Promise<void> | undefined
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    behave = () => {
      full = failing.call('writeSync', () => ended)
      return json(201, { id: 'usr_1' })
    }
    const done = await run('--concurrency', '1')
    end()
    await full
    expect([done.exitCode, sent()], done.stderr).to.deep.equal([1, 1])
    expect(done.stderr).to.contain('2 rows are left').and.contain('(ENOSPC)')
    expect(printedBy(done)).to.include({ created: 1, unknown: 0, remaining: 2 })
    expect(known()).to.deep.equal(['usr_1 created', 'skipped', 'skipped'])
    behave = (_, count) => json(201, { id: `usr_${count}` })
    expectSuccess(await run())
    expect(statuses()).to.deep.equal(['created', 'created', 'created'])
  })

  it('is known after a flush of the ledger has failed, and nothing more is sent, although the next flush would succeed', async () => {
    write(`email\n${emails('a', 'b', 'c', 'd', 'e')}`)
    behave = (_, count) => json(201, { id: `usr_${count}` })
    const ledger = () => readFileSync(ledgersOf(home.sandbox)[0] ?? '', 'utf8')
    const failed = Object.assign(new Error('broken disk'), { code: 'EIO', errno: -5 })
    const real = fs.fdatasync
    let hasFailed = false
    const fdatasync = async (file: number, done: fs.NoParamCallback) => {
      if (hasFailed || !ledger().includes('d@example.com')) return real(file, done)
      hasFailed = true
      await until(() => ledger().includes('e@example.com'))
      done(failed)
    }
    const done = await replacingCalls({ fdatasync }, () => run('--concurrency', '2'))
    expect([done.exitCode, sent()], done.stderr).to.deep.equal([1, 3])
    expect(done.stderr).to.contain('2 rows are left').and.contain('(EIO)')
    expect(printedBy(done)).to.include({ created: 3, unknown: 0, remaining: 2 })
    expectSuccess(await run())
    expect(sent()).to.equal(5)
  })

  it('is counted although the results file can no longer be written, and written by the next run', async () => {
    write('email,role\na@example.com,editor\n')
    const out = home.path('out')
    mkdirSync(out)
    behave = ({ path }) => {
      if (!path.endsWith('/permissions')) return json(201, { id: 'usr_1' })
      renameSync(out, `${out}-gone`)
      return json(200, {})
    }
    const results = `${out}/results.csv`
    const importing = () =>
      home.users('import', path, '--yes', '--json', '--results', results, '--generate-passwords')
    const done = await importing()
    expect(done.exitCode, done.stderr).to.equal(1)
    expect(printedBy(done)).to.include({ created: 1, remaining: 0 }).and.not.have.property('results')
    expect(done.stderr)
      .to.contain(`Cannot write ${results}`)
      .and.contain('To write the results, run the same')
    renameSync(`${out}-gone`, out)
    const before = sent()
    expectSuccess(await importing())
    expect([sent(), readFileSync(results, 'utf8').includes(',created,')]).to.deep.equal([before, true])
  })

  it('can be resolved for one of several rows on a line', async () => {
    const users = ['a', 'b', 'c'].map((name) => ({ email: `${name}@example.com`, role: 'editor' }))
    write(JSON.stringify(users), 'users.json')
    behave = () => reset
    const { stderr } = await run()
    const places = [...stderr.matchAll(/--on-unknown created --line (\d+:\d+)/g)].map(([, place]) => place)
    expect(new Set(places).size).to.equal(3)
    const [, second = ''] = places
    behave = () => json(200, {})
    for (const [words, ...flags] of [
      ['3 rows have an unknown outcome, but an id can be given for only one', 'created', '--id', 'u2', '1'],
      ['The id must not', 'created', '--id', '..', second],
      [`Choose the row with --line: ${places.join(', ')}`, 'skip', '1:1'],
      ['users.json has no row at line 12"', 'skip', '12'],
    ]) {
      const refused = await run('--on-unknown', ...flags.slice(0, -1), '--line', flags.at(-1) ?? '')
      expect(refused.exitCode).to.equal(2)
      expect(refused.stderr).to.contain(words)
    }
    await run('--on-unknown', 'created', '--id', 'u2', '--line', second)
    expect(known()).to.deep.equal(['unknown', 'u2 created', 'unknown'])
    expect(changes().filter((request) => request.endsWith('/permissions'))[0]).to.equal(
      'POST /v1/users/u2/permissions',
    )
  })

  it('is counted as it will be resolved, before the confirmation prompt', async () => {
    write('email,role\na@example.com,editor\n')
    behave = () => reset
    await run()
    const counted = async (...flags: string[]) => printedBy(await run('--dry-run', '--on-unknown', ...flags))
    expect(await counted('skip')).to.include({ creates: 0, assignments: 0, requests: 0 })
    expect(await counted('created', '--id', 'u')).to.include({ reads: 1, assignments: 1, requests: 2 })
    expect(await counted('retry')).to.include({ creates: 1, assignments: 1, requests: 2 })
  })

  it('cannot be resolved with retry if the user is known to exist', async () => {
    write('email,role\na@example.com,editor\n')
    behave = () => answer(201)
    const { stderr } = await run()
    expect(stderr).to.contain('--on-unknown created').and.not.contain('retry')
  })

  it('is reported also if the file of failed rows cannot be written', async () => {
    write(`email\n${emails('a', 'b')}`, `${'n'.repeat(245)}.csv`)
    behave = ({ body }) => (body.includes('a@') ? reset : json(422, {}))
    const { stderr } = await fails()
    expect(stderr).to.contain('Cannot write the file of failed rows').and.contain('a@example.com) is unknown')
    expect(statuses()).to.deep.equal(['unknown', 'failed'])
  })

  it('is unknown for a create whose response has the ID of another row, and nothing is assigned to that user', async () => {
    const admins = (...names: string[]) => `email,role\n${emails(...names).replaceAll('\n', ',admin\n')}`
    write(admins('a', 'b'))
    behave = ({ path: at }) => (at === '/v1/users' ? json(201, { id: 'u1' }) : json(200, {}))
    const first = await fails('--concurrency', '1', ...state)
    expect(first.stderr).to.contain(
      'the user was created, but the response has the ID \\"u1\\", which the user a@example.com has',
    )
    write(admins('a', 'b', 'c'))
    await fails()
    expect(known()).to.deep.equal(['u1 created', 'unknown', 'unknown'])
    expect(changes().filter((request) => request.endsWith('/permissions'))).to.have.length(1)
    expect(entries()).to.have.length(2)
    expect(entries()[0]).to.include({ id: 'u1' })
    expect(entries()[1]).to.include({ creation: 'nameless' }).and.not.have.property('id')
    // Also if another import has created the user of that row.
    write(admins('d', 'a'), 'others.csv')
    await run()
    expect(known()).to.deep.equal(['unknown', 'u1 created'])
  })

  it('is failed for a create whose response has another name, which no other import sends again', async () => {
    behave = () => json(201, { id: 'u1', name: 'Eve' })
    write('email,name\na@example.com,Ada\n')
    expect((await fails()).stderr).to.contain('expected \\"Ada\\", found \\"Eve\\"')
    await fails()
    write('name,email\nAda,a@example.com\n', 'copy.csv')
    expectSuccess(await run())
    expect(rows()[0]).to.include({ id: 'u1', status: 'created' })
    expect(sent()).to.equal(1)
  })

  it('is failed for a row whose ID is that of another user, before its role is assigned', async () => {
    const lines = ['u1,a@example.com,A', 'u2,b@example.com,', 'u3,C@example.com,C']
    write(`id,email,name,role\n${lines.map((line) => `${line},admin\n`).join('')}`)
    const others = { u1: 'z@example.com', u2: 'y@example.com', u3: 'c@example.com' }
    behave = ({ path: at }) => json(200, { email: others[at.split('/')[3] as 'u1'] })
    await fails(...state)
    expect(known()).to.deep.equal(['u1 failed', 'u2 failed', 'u3 updated'])
    expect(rows()[0]?.['error']).to.equal(
      'the request changed another user: the response has the email "z@example.com", not "a@example.com"',
    )
    expect(changes()).not.to.include('POST /v1/users/u1/permissions')
    expect(entries().map(({ email }) => email)).to.deep.equal(['C@example.com'])
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

  for (const [location, id] of [
    ['/v1/users/u1', 'u1'],
    ['users/u%2F1/', 'u/1'],
    ['/v1/users/', undefined],
    ['/v1/users/%ff', undefined],
  ] as const)
    it(`names the user ${id ?? 'nowhere'} for the Location ${location}`, async () => {
      write('email,role\na@example.com,editor\n')
      behave = (_, count) => (count === 1 ? json(201, {}, { location }) : json(200, {}))
      await run()
      expect(rows()[0]).to.include({ status: id ? 'created' : 'unknown', id: id ?? '' })
      expect(changes()[1]).to.equal(id && `POST /v1/users/${encodeURIComponent(id)}/permissions`)
    })
})
