import { appendFileSync, readFileSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import type { RequestOutcome } from '../../src/contract/failure.ts'
import type { Change } from '../../src/contract/intent.ts'
import { hashOfField } from '../../src/contract/managed-fields.ts'
import { allEntries, Ledger } from '../../src/ledger/ledger.ts'
import { LedgerRun } from '../../src/ledger/ledger-run.ts'
import { changesNaming, compactLedger, eraseUser } from '../../src/ledger/rewrite-ledger.ts'
import { Directories } from '../../src/system/files/directories.ts'
import { sentTo, usersIn, userWith } from '../../src/users/sent-users.ts'
import { perTest } from '../support/lifetime.ts'
import { createSandbox } from '../support/sandbox.ts'
import { SteppedClock } from '../support/stepped-clock.ts'
import { replacingCalls } from '../system/replacing-calls.ts'

const service = 'https://chat.example/'

describe('the ledger of a service', () => {
  const sandbox = perTest(createSandbox)
  const directories = () => new Directories(sandbox.env)
  const ledger = (of = service) => Ledger.of(directories(), of)
  const clock = new SteppedClock()

  const begin = (command = 'users apply', of = service) =>
    new LedgerRun(ledger(of), { command, service: of }, clock)
  /** Sends one change in a run. */
  async function send(
    change: Partial<Change>,
    outcome?: Partial<RequestOutcome>,
    command?: string,
    of?: string,
  ) {
    const run = begin(command, of)
    const end = await run.begin({
      method: 'POST',
      path: '/x',
      endpoint: undefined,
      user: undefined,
      ...change,
    })
    if (outcome) end({ outcome: 'done', ...outcome })
    run.close()
  }
  const create = (body: object, outcome?: Partial<RequestOutcome>) =>
    send({ path: '/v1/users', endpoint: 'createUser', body }, outcome)
  const assign = (user: string, body: object, outcome: Partial<RequestOutcome>, command?: string) =>
    send(
      { path: `/v1/users/${user}/permissions`, endpoint: 'assignPermissions', user, body },
      outcome,
      command,
    )

  it('is the same for each notation of a base URL, and separate for each service', () => {
    const paths = ['https://Chat.example', `${service}/`, service, 'https://chat.example:443'].map(
      (of) => ledger(of).path,
    )
    expect(new Set(paths)).to.have.property('size', 1)
    expect(ledger(`${service}a/`).path).to.equal(ledger(`${service}a`).path)
    expect(
      new Set([service, `${service}a`, 'local', 'http://localhost/'].map((of) => ledger(of).path)),
    ).to.have.property('size', 4)
  })

  it('knows the IDs of an email, how certain they are, and what was last sent for each field', async () => {
    await create({ email: 'Ada@x.example', name: 'Ada' }, { createdId: 'u1' })
    await assign('u1', { role: 'staff', permissions: ['b:c', 'a:b'] }, {})
    await assign('u1', { role: 'admin' }, { outcome: 'unknown' }, 'api')
    await assign('u1', { role: 'none' }, { outcome: 'refused' })
    await assign('u10', { role: 'other' }, {})
    await create({ email: 'bob@x.example' }, { outcome: 'unknown' })
    await create({ email: 'cid@x.example' }, { outcome: 'refused' })
    for (const id of ['u3', 'u4']) await create({ email: 'dan@x.example', name: id }, { createdId: id })
    const known = userWith(ledger(), 'ada@X.example')
    expect(known).to.deep.include({ ids: ['u1'], creation: 'done' })
    const sent = sentTo(ledger().userChanges()).get('u1') ?? new Map()
    expect(Array.from(sent, ([path, { hash, outcome }]) => [path, hash, outcome])).to.deep.equal([
      ['name', hashOfField('name', 'Ada'), 'done'],
      ['role', hashOfField('role', 'admin'), 'unknown'],
      ['permissions', hashOfField('permissions', ['a:b', 'b:c']), 'done'],
    ])
    const [name, role, permissions] = Array.from(sent.values(), ({ position }) => position)
    expect([name, permissions, role]).to.deep.equal([name, permissions, role].toSorted((a, b) => a - b))
    const all = usersIn(ledger().userChanges())
    expect(all.get('ada@x.example')).to.deep.equal(known)
    const rest = ['bob', 'cid', 'dan'].map((name) => userWith(ledger(), `${name}@x.example`))
    expect(rest.map(({ ids, creation }) => [ids, creation])).to.deep.equal([
      [[], 'unknown'],
      [[], undefined],
      [['u4', 'u3'], 'done'],
    ])
    expect([...all.keys()]).to.deep.equal(['ada@x.example', 'bob@x.example', 'dan@x.example'])
  })

  it('finds no user in the values of another change, and one with any characters', async () => {
    const email = 'a"\\é@x.example'
    await send(
      {
        path: '/v1/settings',
        endpoint: 'updateSettings',
        body: { email: 'eve@x.example', user: 'u1', about: 'api' },
      },
      {},
    )
    await create({ email }, { createdId: 'u"1' })
    expect(userWith(ledger(), 'eve@x.example')).to.deep.include({ ids: [], creation: undefined })
    expect(userWith(ledger(), email)).to.deep.include({ ids: ['u"1'], creation: 'done' })
    expect(ledger().changesOf('api')).to.deep.equal([])
  })

  it('has the last outcome of each change, newest change first, and unknown without one', async () => {
    const run = begin()
    const ends = []
    for (const path of ['/a', '/b', '/c'])
      ends.push(await run.begin({ method: 'POST', path, endpoint: undefined, user: undefined }))
    ends[1]?.({ outcome: 'done' })
    ends[0]?.({ outcome: 'done' })
    await setImmediate()
    appendFileSync(ledger().path, '{"torn')
    ends[0]?.({ outcome: 'contradicted' })
    run.close()
    let unreadable = 0
    const found = [...ledger().entries(() => unreadable++)].map(({ path, outcome }) => `${path} ${outcome}`)
    expect({ found, unreadable }).to.deep.equal({
      found: ['/c unknown', '/b done', '/a contradicted'],
      unreadable: 1,
    })
  })

  it('is compacted, and answers the same questions as before', async () => {
    await create({ email: 'ada@x.example', name: 'Ada' }, { createdId: 'u1' })
    await create({ email: 'bob@x.example' }, { outcome: 'unknown' })
    for (const role of ['staff', 'admin', 'none'])
      await assign('u1', { role }, { outcome: role === 'none' ? 'refused' : 'done' })
    await assign('u2', { role: 'staff' }, { outcome: 'unknown' })
    await send({ method: 'POST', path: '/v1/new' }, {})
    const api = { path: '/v1/settings/api', endpoint: 'setApiConfiguration', body: { version: '1' } } as const
    await send(api, {})
    const plain = (value: object) =>
      JSON.parse(JSON.stringify(value, (key, inner) => (key === 'position' ? 0 : inner)))
    const known = () =>
      plain({
        users: [...usersIn(ledger().userChanges())],
        sent: [...(sentTo(ledger().userChanges()).get('u1') ?? [])],
        api: ledger().changesOf('api'),
        entries: [...ledger().entries(expect.fail)].sort((one, other) => one.id.localeCompare(other.id)),
      })
    const before = known()
    const live = begin()
    const text = readFileSync(ledger().path, 'utf8')
    compactLedger(ledger(), 1)
    expect(readFileSync(ledger().path, 'utf8')).to.equal(text)
    live.close()
    compactLedger(ledger(), 1)
    expect(known()).to.deep.equal(before)
    const changes = ledger().changes()
    expect(changes.map(({ path, outcome }) => `${path} ${outcome}`)).to.deep.equal([
      ...['/v1/users done', '/v1/users unknown', '/v1/users/u1/permissions done'],
      ...['/v1/users/u2/permissions unknown', '/v1/settings/api done'],
    ])
    const compacted = readFileSync(ledger().path, 'utf8')
    compactLedger(ledger(), 1)
    expect(readFileSync(ledger().path, 'utf8')).to.equal(compacted)
    eraseUser(ledger(), 'u1')
    expect([...ledger().entries(expect.fail)].map(({ user_id: id }) => id)).not.to.include('u1')
    expect(readFileSync(ledger().archive, 'utf8')).not.to.contain('ada')
  })

  it('erases a user from the archive, also by a link that only a later change has', async () => {
    await create({ email: 'ada@x.example' }, { createdId: 'u1' })
    for (const role of ['staff', 'admin']) await assign('u1', { role }, {})
    compactLedger(ledger(), 1)
    const run = begin()
    await run.saw('mary@x.example', 'u1')
    run.close()
    expect(changesNaming(ledger(), 'mary@x.example')).to.have.lengthOf(4)
    expect(eraseUser(ledger(), 'mary@x.example')).to.have.lengthOf(4)
    expect([...ledger().entries(expect.fail)]).to.deep.equal([])
    for (const file of [ledger().path, ledger().archive])
      expect(readFileSync(file, 'utf8')).not.to.match(/ada|mary|u1/)
  })

  it('has the outcome of a change that is sent although its intent may not be on disk', async () => {
    const run = begin()
    const change = { method: 'POST', path: '/a', endpoint: undefined, user: undefined } as const
    const failing = { fdatasync: (_: number, done: (error: Error) => void) => done(new Error('EIO')) }
    const [sent, refused] = await replacingCalls(failing, () =>
      Promise.all([
        run.begin(change, undefined, () => {}),
        run.begin({ ...change, path: '/b' }).catch((error: unknown) => error),
      ]),
    )
    sent({ outcome: 'done' })
    expect(refused).to.be.an('error')
    run.close()
    const found = [...ledger().entries(expect.fail)].map(({ path, outcome }) => `${path} ${outcome}`)
    expect(found).to.deep.equal(['/b refused', '/a done'])
  })

  it('takes no time in a value for that of the change', async () => {
    const body = { window: { at: '2020-01-01' } }
    await send({ path: '/v1/settings', endpoint: 'updateSettings', body }, {})
    expect([...ledger().entries(expect.fail, '2025-01-01')]).to.have.lengthOf(1)
  })

  it('is merged with the others by time', async () => {
    for (const [of, path] of [
      [service, '/a'],
      ['local', '/b'],
      [service, '/c'],
    ] as const) {
      clock.pass(1000)
      await send({ path }, {}, 'api', of)
    }
    const entries = [...allEntries(directories(), expect.fail)]
    expect(entries.map(({ path, service: of }) => [path, of])).to.deep.equal([
      ['/c', service],
      ['/b', 'local'],
      ['/a', service],
    ])
    const [, second] = entries
    expect([...allEntries(directories(), expect.fail, second?.at)]).to.have.lengthOf(2)
  })
})
