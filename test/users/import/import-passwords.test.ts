import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { tryProcessLock } from '../../../src/system/files/process-lock.ts'
import { GeneratedPasswords } from '../../../src/users/results/generated-passwords.ts'
import { type RowStatus, readResults, writeResults } from '../../../src/users/results/results-file.ts'
import { makeEmptyDirectory } from '../../support/empty-directory.ts'
import { expectFailure, expectSuccess } from '../../support/expect-failure.ts'
import { perTest } from '../../support/lifetime.ts'
import type { Run } from '../../support/run-chatctl.ts'
import { serveUsers } from '../users-run.ts'

describe('the generated passwords of an import', function () {
  this.timeout(60_000)
  const home = serveUsers({ rejects: (email) => email.startsWith('bad') })
  const { server, serve, users, write, read } = home
  let results: string
  beforeEach(() => {
    results = 'results.csv'
  })

  const importing = (path: string, ...flags: string[]): Promise<Run> =>
    users('import', path, '--yes', '--generate-passwords', '--results', results, ...flags)
  /** Writes a file with these emails. */
  const writeEmails = (...names: string[]) =>
    write('users.csv', `email\n${names.map((name) => `${name}@example.com\n`).join('')}`)
  const sent = () => new Map([...server.report().users.values()].map((user) => [user.email, user.password]))
  const kept = () => home.rows(results)

  it('are different for each row, also if all rows are on one line', async () => {
    const emails = ['a@example.com', 'bad@example.com', 'c@example.com', 'own@example.com', 'e@example.com']
    const rows = emails.map((email) =>
      email.startsWith('own') ? { email, password: 'an-own-one' } : { email },
    )
    const path = write('users.json', JSON.stringify([{ email: 'no address' }, ...rows]))
    for (const run of [1, 2]) {
      expect((await importing(path, '--skip-invalid')).exitCode).to.equal(9)
      const made = kept().filter(({ status }) => status === 'created')
      expect(made).to.have.length(4)
      expect(new Set(sent().values()).size, `run ${run}`).to.equal(4)
      for (const { email = '', password } of made)
        expect(password).to.equal(email.startsWith('own') ? '' : sent().get(email))
    }
  })

  it('are named only for users that were sent with them, if another command creates one later', async () => {
    await serve({ quota: { requests: 3, window: 60_000, headers: 'RateLimit' } })
    const path = writeEmails('a', 'bad', 'c', 'd')
    expect((await importing(path, '--concurrency', '1', '--max-wait', '0s')).exitCode).to.equal(75)
    const passwordOf = (email: string) => sent().get(email)
    expect(kept().map(({ email, password, status }) => [email, status, password])).to.deep.equal([
      ['a@example.com', 'created', passwordOf('a@example.com')],
      ['bad@example.com', 'failed', ''],
      ['c@example.com', 'skipped', ''],
      ['d@example.com', 'skipped', ''],
    ])
    server.liftQuota()
    expectSuccess(await users('create', '--email', 'd@example.com', '--no-password'))
    await importing(path)
    const passwords = [passwordOf('a@example.com'), '', passwordOf('c@example.com'), '']
    expect(kept().map(({ password }) => password)).to.deep.equal(passwords)
  })

  for (const name of ['results.csv', 'results.jsonl'])
    it(`are unknown in ${name} after a kill, and stay the same in the next run`, async () => {
      results = name
      const path = writeEmails('a', 'b')
      let killed = ''
      server.onRequest = ({ method, body }) => {
        if (method !== 'POST') return
        killed = read(results)
        const { password } = JSON.parse(body)
        expect(killed).to.contain('the run ended before a response arrived').and.contain(password)
      }
      expectSuccess(await importing(path, '--concurrency', '1'))
      server.onRequest = undefined
      const whole = read(results)
      const lines = killed.trimEnd().split('\n')
      expect(lines.at(-1)).to.contain('"unknown"')
      // A killed run leaves an incomplete line for a create that was not sent.
      const begun = lines[1]?.replaceAll('a@example.com', 'c@example.com') ?? ''
      for (let end = 0; end < begun.length; end += 3) {
        write(results, killed + begun.slice(0, end))
        expect((await importing(path)).exitCode, `${end}`).to.equal(0)
        expect(read(results)).to.equal(whole)
      }
    })

  it('are not generated again for a create that may have succeeded, if the file does not have them', async () => {
    server.fates = { refused: 1 }
    const path = writeEmails('a')
    expect((await importing(path)).exitCode).to.equal(9)
    expect(kept()[0]).to.include({ status: 'unknown' }).and.property('password').match(/.{20}/)
    server.endFates()
    results = 'other.csv'
    const again = await importing(path, '--on-unknown', 'retry')
    expect(again.stderr).to.contain('other.csv does not have the passwords of 1 user')
    expect(kept()[0]).to.include({ status: 'created', password: '' })
    expect([...sent()]).to.deep.equal([['a@example.com', undefined]])
    expect(read('results.csv')).to.contain(',unknown,')
  })

  it('are also generated by the command that the hint suggests for failed rows', async () => {
    const { stderr } = await importing(writeEmails('a', 'bad'))
    const [, hint = ''] = /Hint: {2}Fix the row, and run: chatctl (.*)$/m.exec(stderr) ?? []
    write('users.failed.csv', 'email\nb@example.com\n')
    expectSuccess(await home.chatctl([...hint.split(' '), '--yes']))
    expect(sent().get('b@example.com')).to.match(/.{12}/)
  })

  it('are suggested if users have no password', async () => {
    const path = write('users.csv', 'email,password\na@example.com,\nb@example.com,pw\n')
    const run = async () => (await users('import', path, '--yes')).stderr
    expect(await run()).to.contain(
      'Warning: 1 new user without a password. If the service requires one, use --generate-passwords',
    )
    expect(await run())
      .to.contain('done by earlier runs')
      .and.not.to.contain('without a password')
    expect((await importing(path, '--restart')).stderr).not.to.contain('without a password')
  })

  it('are kept if a spreadsheet has saved the results file in another notation', async () => {
    const path = write('users.csv', 'email\r\na@example.com\r\nbad@example.com\r\nc@example.com\r\n')
    await importing(path)
    const before = kept()
    for (const [separator, end] of [
      [',', '\r\n'],
      [';', '\n;;;;;\n'],
      ['\t', '\r'],
    ] as const) {
      const text = read(results).replaceAll(',', separator).replaceAll('\n', end)
      write(results, `\ufeff${text}`)
      expect((await importing(path)).exitCode).to.equal(9)
      expect(kept()).to.deep.equal(before)
    }
  })

  it('are in a file that no other process writes at the same time', async () => {
    const path = writeEmails('a')
    const lock = () => tryProcessLock(home.path('results.csv.lock'))
    let isFree: boolean | undefined
    server.onRequest = ({ method }) => {
      if (method === 'POST') isFree = lock() !== undefined
    }
    expectSuccess(await importing(path))
    expect(isFree).to.equal(false)
    const before = read(results)
    const release = lock()
    const other = await importing(write('others.csv', 'email\nb@example.com\n'))
    release?.()
    expectFailure(other, 7, `Another chatctl process is writing ${home.path(results)}`)
    expect([read(results), sent().size]).to.deep.equal([before, 1])
  })

  it('are not written to a device', async function () {
    if (process.platform === 'win32') this.skip()
    results = 'out.jsonl'
    symlinkSync('/dev/null', home.path(results))
    expectFailure(await importing(writeEmails('a')), 2, 'not a regular file')
    expect(sent().size).to.equal(0)
  })

  it('are not overwritten by the file of failed rows', async () => {
    results = 'users.failed.csv'
    const refused = await importing(writeEmails('a', 'bad'))
    expectFailure(refused, 2, 'chatctl writes failed or unknown rows there')
    expect(sent().size).to.equal(0)
  })
})

describe('a generated password in a results file', () => {
  const directory = perTest(makeEmptyDirectory)
  const email = 'Ada@example.com'
  const result = (status: RowStatus) => ({ line: '2', email, id: '', status, error: '' })

  interface Case {
    /** The status in the file, with the password `old`; undefined if the file does not exist. */
    before?: RowStatus
    mayHaveSent?: boolean
    /** What happened to a create that was about to be sent. */
    create?: 'begun' | 'settled' | 'taken'
    /** The status in the end. */
    status: RowStatus
    /** The row in the file in the end: its status and its password. */
    row: string
  }
  const cases: Record<string, Case> = {
    'a create': { create: 'settled', status: 'created', row: 'created new' },
    'a create without a response': { create: 'settled', status: 'unknown', row: 'unknown new' },
    'a refused create': { create: 'settled', status: 'failed', row: 'failed ' },
    'an email that another user has': { create: 'taken', status: 'failed', row: 'failed ' },
    'a create that was not sent': { create: 'begun', status: 'skipped', row: 'skipped ' },
    'a create that may have been sent without the file': {
      ...{ mayHaveSent: true, create: 'settled', status: 'created', row: 'created ' },
    },
    'a created user, if the rest of the row is not sent yet': {
      ...{ before: 'skipped', status: 'skipped', row: 'skipped old' },
    },
    'a user whom this machine does not know': {
      ...{ before: 'created', create: 'taken', status: 'failed', row: 'failed old' },
    },
  }
  /** The status in the file is unknown. */
  const killed: Record<string, Case> = {
    'whose user was created': { mayHaveSent: true, status: 'created', row: 'created old' },
    'if another command created the user': { status: 'created', row: 'created ' },
    'if the next one ends early': { status: 'skipped', row: 'unknown old' },
    'if the next one ends while it waits': { create: 'begun', status: 'skipped', row: 'unknown old' },
    'if the next one creates the user': { create: 'settled', status: 'created', row: 'created old' },
    'if the next one is refused': { create: 'settled', status: 'failed', row: 'failed ' },
    'if the next one finds that its user exists': {
      ...{ mayHaveSent: true, create: 'taken', status: 'failed', row: 'failed old' },
    },
  }
  for (const [what, one] of Object.entries(killed))
    cases[`a killed run, ${what}`] = { before: 'unknown', ...one }

  for (const [what, { before, mayHaveSent = false, create, status, row }] of Object.entries(cases))
    it(`is ${row.endsWith(' ') ? 'not named' : 'named'} in the row "${row}": that of ${what}`, async () => {
      const path = join(directory.path, 'results.csv')
      if (before) await writeResults(path, [{ ...result(before), password: 'old' }], true)
      const passwords = new GeneratedPasswords(path, () => 'new')
      passwords.open({ emails: [email], mayHaveSent: () => mayHaveSent })
      const sent = mayHaveSent ? undefined : 'new'
      if (create) expect(await passwords.passwordOf({ email, line: 2 })).to.equal(before ? 'old' : sent)
      if (create === 'settled' || create === 'taken') passwords.settle(result(status), create === 'taken')
      await passwords.finish([result(status)])
      expect(readResults(path).map((one) => `${one.status} ${one.password}`)).to.deep.equal([row])
    })
})

describe('a results file', () => {
  const directory = perTest(makeEmptyDirectory)

  it('may be empty or have no rows, but not other columns', () => {
    const path = join(directory.path, 'other.csv')
    for (const text of ['name,phone', 'email,name\n']) {
      writeFileSync(path, text)
      expect(() => readResults(path)).to.throw('is not a results file')
    }
    for (const text of ['', 'line;email;id;status;error\n']) {
      writeFileSync(path, text)
      expect(readResults(path)).to.deep.equal([])
    }
  })

  it('can be read back, whatever error text the service returned', async () => {
    const unit = fc.constantFrom('a', '"', ',', '\n', '\r', '\u2028', '\u2029', '\u0085')
    const errors = fc.array(fc.string({ unit }), { minLength: 1, maxLength: 5 })
    await fc.assert(
      fc.asyncProperty(errors, fc.constantFrom('csv', 'jsonl'), async (texts, format) => {
        const path = join(directory.path, `results.${format}`)
        const results = texts.map((error, index) => ({
          ...{ line: String(index + 2), email: `user${index}@example.com`, id: '' },
          ...{ status: 'failed' as const, error, password: `password-${index}` },
        }))
        await writeResults(path, results, true)
        const shown = readResults(path).map(({ email, password }) => [email, password])
        expect(shown).to.deep.equal(results.map(({ email, password }) => [email, password]))
      }),
      { numRuns: 60 },
    )
  })
})
