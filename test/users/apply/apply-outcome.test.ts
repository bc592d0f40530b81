import { expect } from 'chai'
import fc from 'fast-check'
import { Failure } from '../../../src/contract/failure.ts'
import { hashOfField, managedFields } from '../../../src/contract/managed-fields.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { readCommand } from '../../../src/system/split-command.ts'
import { runPasswordCommand } from '../../../src/users/apply/password-source.ts'
import type { UserOutcome } from '../../../src/users/apply/user-outcome.ts'
import { readField, type WantedUser } from '../../../src/users/managed-fields.ts'
import type { StateEntry } from '../../../src/users/state/state-entry.ts'
import { failureOf } from '../../client/capture.ts'
import { makeEmptyDirectory } from '../../support/empty-directory.ts'
import { perTest } from '../../support/lifetime.ts'
import { createRandom } from '../../support/random.ts'
import { failing } from '../../system/failing.ts'
import { ApplyTrial, isExpectedEnd } from './apply-trial.ts'

const email = 'ada@example.com'
const ada: WantedUser = { email, name: 'Ada', role: 'admin' }

describe('the outcome of applying a user', () => {
  const directory = perTest(makeEmptyDirectory)
  const trial = perTest(
    () => new ApplyTrial(directory.path, () => 0),
    () => {},
  )

  /** Calls `act` once, instead of the response to a request. */
  const instead = (request: string, act: () => void) => {
    let isDone = false
    trial.service.onRequest = (found) => {
      if (found !== request || isDone) return
      isDone = true
      act()
    }
  }
  const fail =
    (status: number | undefined, isOutcomeUnknown = false) =>
    (): never => {
      const kind = status === 403 ? 'forbidden' : status === 401 ? 'unauthorized' : 'server_error'
      throw new Failure(kind, 'It failed', { isOutcomeUnknown, ...(status !== undefined && { status }) })
    }
  const applied = async (wanted: WantedUser = ada, ...rest: WantedUser[]): Promise<UserOutcome> => {
    const { outcomes } = await trial.run([wanted, ...rest], { concurrency: 1 })
    return outcomes[0] as UserOutcome
  }
  const entry = async () => (await trial.entries())[0]
  /** Someone else changes all users. */
  const change = (fields: object) => {
    for (const user of trial.service.users.values()) Object.assign(user, fields)
  }
  /** Adds a user that is also in the state. */
  const addKnown = async (fields: object = {}, known: Partial<StateEntry> = {}) => {
    const { id } = trial.service.add({ email, ...fields })
    const state = await trial.openState()
    state.note({ email, id, hashes: {}, ...known })
    await state.close()
    return id
  }

  it('is a conflict without a read before the plan, if the value is not the one that was last sent', async () => {
    await applied()
    change({ name: 'Eve' })
    expect((await trial.run([{ ...ada, name: 'Ada L.' }], { refresh: false })).outcomes[0]).to.deep.include({
      status: 'conflict',
      mismatches: [{ path: 'name', expected: undefined, found: 'Eve' }],
    })
  })

  it('is no conflict if someone else made the same change', async () => {
    await applied()
    const between = () => change({ name: 'Ada L.' })
    const { outcomes } = await trial.run([{ ...ada, name: 'Ada L.' }], { between })
    expect(outcomes[0]?.status).to.equal('unchanged')
    expect(trial.service.requests).not.to.include(`PATCH ${email}`)
  })

  it('is unchanged, and nothing is sent, if only the first reading shows that it has the wanted values', async () => {
    const user = { name: 'Ada', settings: { theme: 'light' } }
    const id = await addKnown(user, { found: { name: 'drifted-abc' } })
    const run = (wanted: WantedUser) => trial.run([wanted], { refresh: false })
    expect((await run({ email, name: 'Ada' })).outcomes[0]?.status).to.equal('unchanged')
    expect(trial.service.requests).to.deep.equal([`GET ${email}`])
    expect(await entry()).to.deep.equal({ email, id, hashes: { name: hashOfField('name', 'Ada') } })
    trial.service.onRequest = (request) => expect(request).not.to.contain('ASSIGN')
    const { outcomes } = await run({ email, name: 'Ada', settings: { theme: 'dark' } })
    expect(outcomes[0]?.status).to.equal('changed')
    expect(trial.service.users.get(id)?.settings).to.deep.equal({ theme: 'dark' })
  })

  it('is a conflict, and nothing is sent, if the ID belongs to a user with another email, or to none', async () => {
    await applied()
    const between = () => change({ email: 'eve@example.com' })
    const { outcomes } = await trial.run([{ ...ada, name: 'Ada L.' }], { between, refresh: false })
    expect(outcomes[0]?.failure?.message).to.contain('has the email "eve@example.com" on the service')
    expect(outcomes[0]?.status).to.equal('conflict')
    expect(trial.service.requests.join()).not.to.contain('PATCH')
    trial.service.users.clear()
    const gone = await trial.run([{ ...ada, name: 'Ada M.' }], { refresh: false })
    expect(gone.outcomes[0]?.failure?.message).to.equal('The user "usr_1" no longer exists')
    expect(gone.outcomes[0]?.status).to.equal('conflict')
  })

  it('is nameless if the response to the create has the ID of another user', async () => {
    trial.service.nextId = 'usr_1'
    const users = [ada, { email: 'bob@example.com', role: 'member' }]
    const { outcomes } = await trial.run(users, { concurrency: 1 })
    expect(outcomes.map(({ status }) => status)).to.deep.equal(['created', 'nameless'])
    expect(outcomes[1]?.failure?.message).to.equal(`The response has the ID "usr_1" of ${email}`)
    const shown = (await trial.entries()).map(({ id, creation }) => id ?? creation)
    expect(shown).to.deep.equal(['usr_1', 'nameless'])
    expect(trial.service.requests).not.to.include('ASSIGN bob@example.com')
    expect((await trial.run([ada, { email: 'carl@example.com' }])).outcomes[0]?.status).to.equal('nameless')
  })

  it('is nameless if the response to the create has the email of another user', async () => {
    trial.service.created = { email: 'eve@example.com' }
    const outcome = await applied({ email, role: 'member' })
    expect(outcome).to.include({ status: 'nameless', isCreated: true, id: undefined })
    expect(outcome?.failure?.message).to.contain('has the email "eve@example.com"')
    expect(await entry()).to.deep.include({ creation: 'nameless' })
    expect(trial.service.requests).to.deep.equal([`CREATE ${email}`])
  })

  it('is not applied if the response to the assignment shows another role, which is sent again', async () => {
    trial.service.assigned = { role: 'viewer' }
    const outcome = await applied()
    expect(outcome).to.include({ status: 'not_applied', isCreated: true })
    expect(outcome.failure?.message).to.contain('expected "admin", found "viewer"')
    expect(Object.keys((await entry())?.hashes ?? {})).to.deep.equal(['name'])
    trial.service.assigned = { role: 'admin', permissions: ['x:y'] }
    expect(await applied()).to.deep.include({ status: 'changed', sent: ['role'] })
  })

  const sets: [last: string, now: string, shown: string, status: string][] = [
    ['a b', 'a', 'a b', 'not_applied'],
    ['a b', 'a', 'b a default', 'not_applied'],
    ['a b', 'a c', 'a b c', 'not_applied'],
    ['a b', 'c', 'a b c', 'not_applied'],
    ['a', 'a b', 'a b default', 'changed'],
    ['a', 'a b', 'b a', 'changed'],
    ['a b', 'a', 'a default', 'changed'],
    ['', 'a', 'a b', 'changed'],
    ['a b', '', 'a b', 'changed'],
  ]
  const granted = (names: string) => [...names.matchAll(/\w+/g)].map(([name]) => `${name}:chat`)
  for (const [last, now, shown, status] of sets)
    it(`is ${status} if "${last}" was sent last, "${now}" is sent, and the response has the permissions "${shown}"`, async () => {
      const before: Record<string, string> =
        last === '' ? {} : { permissions: hashOfField('permissions', granted(last)) }
      const id = await addKnown({}, { hashes: before })
      trial.service.assigned = { user_id: id, permissions: granted(shown) }
      const wanted = now === '' ? { role: 'admin' } : { permissions: granted(now) }
      // Also the next run, until the service removes the permission.
      for (const _ of status === 'changed' ? [1] : [1, 2]) {
        const outcome = await applied({ email, ...wanted })
        expect(outcome.status).to.equal(status)
        if (status === 'changed') return
        expect(outcome.failure?.message).to.contain('permissions did not take effect: expected')
        expect((await entry())?.hashes).to.deep.equal(before)
      }
    })

  describe('of a service that shows a change late', () => {
    const users = ['a', 'b', 'c', 'd', 'e'].map((name) => ({ email: `${name}@example.com`, name: 'Old' }))
    const renamed = users.map((user) => ({ ...user, name: 'New' }))
    const changedAt = new Map<string, number>()
    beforeEach(async () => {
      await trial.run(users)
      trial.clock.waits.length = 0
      changedAt.clear()
      trial.service.onRequest = (request) => {
        const [method, of = ''] = request.split(' ')
        if (method === 'PATCH') changedAt.set(of, trial.clock.now())
      }
    })
    const late = (lag: number, meanwhile = 'Old') => {
      trial.service.shown = (user) => {
        const at = changedAt.get(user.email)
        const isShown = at === undefined || trial.clock.now() >= at + lag
        return { ...user, name: isShown ? user.name : meanwhile }
      }
    }
    const statuses = ({ outcomes }: { outcomes: UserOutcome[] }) =>
      outcomes.map(({ status }) => status).filter((status, index, all) => index === all.indexOf(status))

    it('is changed, and one wait at the end is for all users', async () => {
      late(3_000)
      expect(statuses(await trial.run(renamed))).to.deep.equal(['changed'])
      expect(trial.clock.waits).to.deep.equal([500, 1_000, 2_000])
      expect(trial.service.requests.filter((request) => request === 'PATCH a@example.com')).to.have.length(1)
    })

    it('is not applied if the earlier value is still shown after 10 s', async () => {
      late(60_000)
      const run = await trial.run(renamed)
      expect(statuses(run)).to.deep.equal(['not_applied'])
      expect(run.outcomes[0]?.mismatches).to.deep.equal([{ path: 'name', expected: 'New', found: 'Old' }])
      expect(trial.clock.waits.reduce((sum, ms) => sum + ms, 0)).to.equal(10_000)
      expect([...trial.clock.waits].sort((one, other) => one - other)).to.deep.equal(trial.clock.waits)
    })

    it('is not applied immediately if a value is neither the earlier nor the new one', async () => {
      late(3_000, 'Other')
      expect(statuses(await trial.run(renamed))).to.deep.equal(['not_applied'])
      expect(trial.clock.waits).to.deep.equal([])
    })

    it('is changed if only the response to the change has the new value', async () => {
      late(60_000)
      trial.service.updated = { name: 'New' }
      expect(statuses(await trial.run(renamed))).to.deep.equal(['changed'])
      expect(trial.clock.waits).to.deep.equal([])
    })

    it('is created if the new user is found late', async () => {
      const { service, clock } = trial
      const start = clock.now()
      service.onRequest = (request) => {
        if (request === `GET ${email}` && clock.now() < start + 3_000)
          throw new Failure('not_found', 'There is no such user', { status: 404 })
      }
      expect((await applied()).status).to.equal('created')
      expect(clock.waits).to.deep.equal([500, 1_000, 2_000])
    })

    it('is unverified if the run ends during the wait', async () => {
      late(60_000)
      const controller = new AbortController()
      trial.clock.sleep = async (_, signal) => {
        controller.abort(new Error('stop'))
        signal?.throwIfAborted()
      }
      const run = await trial.run(renamed, { signal: controller.signal })
      expect([statuses(run), run.outcomes.length]).to.deep.equal([['unverified'], 5])
      expect(run.ended).to.be.an('error').with.property('message', 'stop')
    })
  })

  it('is not applied if the service keeps another value, which is not recorded as sent', async () => {
    await applied()
    let reads = 0
    trial.service.onRequest = (request) => {
      if (request === `GET ${email}` && ++reads > 1) change({ name: 'ADA' })
    }
    expect(await applied({ ...ada, name: 'Ada L.' })).to.deep.include({
      status: 'not_applied',
      mismatches: [{ path: 'name', expected: 'Ada L.', found: 'ADA' }],
    })
    expect(Object.keys((await entry())?.hashes ?? {})).to.deep.equal(['role'])
  })

  const managed = { email, metadata: { company: 'Acme' }, settings: { theme: 'dark' } }
  const others = {
    metadata: { company: 'Old', hr_id: 7, phone: null },
    settings: { theme: 'light', notifications_enabled: false, layout: 'wide' },
  }
  const addOthers = async () => trial.service.users.get(await addKnown(others))

  it('is changed without the loss of keys that the files do not have, if the service replaces all keys', async () => {
    const user = await addOthers()
    expect((await applied(managed)).status).to.equal('changed')
    expect(user).to.deep.include({
      metadata: { company: 'Acme', hr_id: 7 },
      settings: { theme: 'dark', notifications_enabled: false },
    })
    expect(Object.keys((await entry())?.hashes ?? {})).to.deep.equal(['metadata.company', 'settings.theme'])
  })

  for (const place of ['the response', 'what is read back'])
    it(`is not applied if a key that the files do not have is missing in ${place}`, async () => {
      const user = await addOthers()
      trial.service.updated = place === 'the response' ? { id: 'usr_1', metadata: { company: 'Acme' } } : {}
      let reads = 0
      trial.service.onRequest = (request) => {
        if (request === `GET ${email}` && ++reads === 2 && user) delete user.metadata['hr_id']
      }
      expect(await applied(managed)).to.deep.include({
        status: 'not_applied',
        mismatches: [{ path: 'metadata.hr_id', expected: 7, found: undefined }],
      })
      expect(reads).to.equal(place === 'the response' ? 1 : 2)
      expect(Object.keys((await entry())?.hashes ?? {})).to.deep.equal(['metadata.company', 'settings.theme'])
    })

  it('is failed if the email is taken, with the ID that the service names', async () => {
    trial.service.add({ email })
    const { status, failure } = await applied()
    expect(status).to.equal('failed')
    expect(failure?.advice).to.deep.equal([{ code: 'adopt_existing', email, id: 'usr_1' }])
    expect(await entry()).to.equal(undefined)
  })

  it('is pending, and nothing is sent, if the intent cannot be written to disk', async () => {
    const { outcomes, ended } = await failing.call('writeSync', () => trial.run([ada]))
    expect(outcomes[0]?.status).to.equal('pending')
    expect(ended).to.include({ kind: 'storage' })
    expect(trial.service.requests).to.deep.equal([])
    expect(await trial.entries()).to.deep.equal([])
    await applied()
    await failing.call('writeSync', () => trial.run([{ ...ada, name: 'Ada L.', role: 'editor' }]))
    expect(Object.keys((await entry())?.hashes ?? {}).sort()).to.deep.equal(['name', 'role'])
  })

  it('is unknown if the response to a PATCH is lost, and the next run finds what it did', async () => {
    await applied()
    instead(`PATCH ${email}`, fail(undefined, true))
    expect(await applied({ ...ada, name: 'Ada L.' })).to.include({ status: 'unknown', id: 'usr_1' })
    expect((await entry())?.hashes).not.to.have.property('name')
    expect(await applied({ ...ada, name: 'Ada L.' })).to.include({ status: 'changed' })
  })

  it('is unknown if the response to an assignment is lost, and the next run sends it again', async () => {
    await applied()
    instead(`ASSIGN ${email}`, fail(500, true))
    expect(await applied({ ...ada, role: 'member' })).to.include({ status: 'unknown', id: 'usr_1' })
    expect(Object.keys((await entry())?.hashes ?? {})).to.deep.equal(['name'])
    expect(await applied({ ...ada, role: 'member' })).to.include({ status: 'changed' })
  })

  it('is failed after 403, and the others continue', async () => {
    instead(`CREATE ${email}`, fail(403))
    const { outcomes, ended } = await trial.run([ada, { email: 'bob@example.com' }])
    expect(ended).to.equal(undefined)
    expect(outcomes.map(({ status }) => status).sort()).to.deep.equal(['created', 'failed'])
    expect(await trial.entries()).to.have.length(1)
  })

  it('is pending if 401 ends the run, and the state has no trace of the create', async () => {
    instead(`CREATE ${email}`, fail(401))
    const { outcomes, ended } = await trial.run([ada, { email: 'bob@example.com' }], { concurrency: 1 })
    expect([outcomes[0]?.status, outcomes.length]).to.deep.equal(['pending', 1])
    expect(ended).to.include({ kind: 'unauthorized' })
    expect(await trial.entries()).to.deep.equal([])
  })

  it('does not show a password that the service quotes', async () => {
    instead(`CREATE ${email}`, () => {
      throw new Failure('rejected', `Bad password "password of ${email}"`, { status: 422 })
    })
    expect((await applied()).failure?.message).to.equal(
      'The response is not shown because it contains the password',
    )
  })
})

const values = fc.constantFrom('a', 'b', 5, true)

const anyUser = fc.record(
  {
    name: fc.constantFrom('Ada', 'Bob'),
    metadata: fc.dictionary(fc.constantFrom('company', 'seats'), values, { minKeys: 1 }),
    settings: fc.record({ theme: fc.constantFrom('dark', 'light') }),
    role: fc.constantFrom('admin', 'member'),
    permissions: fc.constantFrom<string[]>(['read:chat'], ['read:chat', 'write:chat']),
  },
  { requiredKeys: [] },
)

const anyFile: fc.Arbitrary<WantedUser[]> = fc
  .array(anyUser, { minLength: 1, maxLength: 8 })
  .map((users) => users.map((user, index) => ({ ...user, email: `u${index}@example.com` })))

const anyRun = fc.record({ file: anyFile, killAfter: fc.option(fc.nat({ max: 30 }), { nil: undefined }) })

/** Every user of the service is in the state once, and no hash is of a value that the service does not have. */
async function expectAgreement(trial: ApplyTrial): Promise<void> {
  const entries = await trial.entries()
  const emails = [...trial.service.users.values()].map(({ email }) => email)
  expect(emails, 'no user twice').to.deep.equal([...new Set(emails)])
  const known = new Set(entries.map(({ email }) => email))
  const added = trial.service.added
  const shown = emails.filter((email) => !known.has(email) && !added.has(email))
  expect(shown, 'forgotten users').to.deep.equal([])
  for (const { email, id, hashes } of entries) {
    if (id === undefined) continue
    const user = trial.service.users.get(id)
    expect(user?.email).to.equal(email)
    for (const field of ['role', 'permissions', 'name'] as const) {
      if (hashes[field] === undefined) continue
      expect(hashes[field], `${field} of ${email}`).to.equal(hashOfField(field, user?.[field]))
    }
  }
}

describe('applying users to a service that loses responses', function () {
  this.timeout(120_000)
  const directory = perTest(makeEmptyDirectory)

  it('creates no user twice and forgets none, also if it is killed at any write', async () => {
    let kills = 0
    let unknowns = 0
    await fc.assert(
      fc.asyncProperty(fc.array(anyRun, { minLength: 1, maxLength: 4 }), fc.nat(), async (runs, seed) => {
        const random = createRandom(seed)
        const trial = new ApplyTrial(directory.path, random)
        if (random() < 0.3) trial.service.add({ email: 'u1@example.com' })
        trial.service.faults = ['lost', '429', '500', '422', 'nameless']
        for (const { file, killAfter } of runs) {
          const { ended } = await trial.run(file, killAfter === undefined ? {} : { killAfter })
          if (!isExpectedEnd(ended)) throw ended
          if (killAfter !== undefined) kills++
          await trial.service.settled()
          await expectAgreement(trial)
        }

        // As the output advises: adopt the users that exist, and create the others again.
        const state = await trial.openState()
        for (const { email, creation } of [...state.entries()]) {
          if (creation === undefined) continue
          unknowns++
          const [found] = trial.service.withEmail(email)
          if (found) state.note({ email, id: found.id, hashes: {} })
        }
        for (const [email, id] of trial.service.added) state.note({ email, id, hashes: {} })
        await state.close()
        trial.service.faults = []
        const file = runs.at(-1)?.file ?? []
        const { outcomes, ended } = await trial.run(file, { retries: () => true })
        if (ended !== undefined) throw ended
        for (const { status } of outcomes) expect(status).to.be.oneOf(['created', 'changed'])
        await expectAgreement(trial)
        for (const wanted of file) {
          const [user, ...others] = trial.service.withEmail(wanted.email)
          expect(others).to.deep.equal([])
          for (const [path, value] of managedFields(wanted))
            expect(readField({ ...user }, path), path).to.deep.equal(value)
        }

        trial.service.requests.length = 0
        const last = await trial.run(file)
        expect([last.planned, trial.service.requests]).to.deep.equal([[], []])
      }),
      { numRuns: 20, seed: 19 },
    )
    expect(kills).to.be.above(20)
    expect(unknowns).to.be.above(10)
  })
})

const options = {
  env: process.env,
  cwd: process.cwd(),
  clock: systemClock,
  signal: new AbortController().signal,
}

/** Runs a script of sh as the password command. */
const run = (script: string, more: Partial<typeof options> = {}) =>
  runPasswordCommand(['sh', '-c', script], 'ada@example.com', { ...options, ...more })

const print = (text: string) => `printf %s '${text}'`

describe('a password command', () => {
  it('receives the email, and its first line is the password', async () => {
    expect(await run('echo "$CHATCTL_EMAIL 1"; echo second')).to.equal('ada@example.com 1')
    expect(await run(print(' spaces \r\n'))).to.equal(' spaces ')
  })

  it('fails if it exits with another code than 0, prints nothing, or does not exist', async () => {
    for (const [script, reason] of [
      ['exit 3', 'exited with code 3'],
      [print('\nsecond'), 'wrote no password in its first line'],
      ['kill $$', 'failed: SIGTERM'],
    ] as const) {
      const failure = await failureOf(run(script))
      expect(failure.message).to.equal(`The password command for "ada@example.com" ${reason}`)
      expect(failure.kind).to.equal('incomplete')
    }
    const failure = await failureOf(runPasswordCommand(['no-such-program'], 'ada@example.com', options))
    expect(failure.message).to.match(
      / failed: cannot start "no-such-program": no such file or directory \(ENOENT\)$/,
    )
  })

  it('is killed after 64 KiB, after a minute, and by a signal', async () => {
    const endless = 'exec sleep 600'
    const flood = await failureOf(run(`${print('x'.repeat(70_000))};${endless}`))
    expect(flood.message).to.match(/ wrote more than 64 KiB$/)
    const clock = { ...systemClock, sleep: async () => {} }
    expect((await failureOf(run(endless, { clock }))).message).to.match(/ did not end within 60 s$/)
    const controller = new AbortController()
    const running = run(endless, { signal: controller.signal })
    const reason = new Error('interrupted')
    setImmediate(() => controller.abort(reason))
    expect(await running.catch((error: unknown) => error)).to.equal(reason)
  })

  it('is refused if its words cannot be read', () => {
    for (const line of ['', "pass 'ada", '""'])
      expect(() => readCommand(line, 'password command'), line).to.throw('Invalid password command')
    expect(readCommand('pass show "a b"', 'password command')).to.deep.equal(['pass', 'show', 'a b'])
  })
})
