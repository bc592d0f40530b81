import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { parse } from 'csv-parse/sync'
import { tryProcessLock } from '../../../src/system/files/process-lock.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { UsersHandler } from '../../support/handlers/users.ts'
import { perTest } from '../../support/lifetime.ts'
import { type Run, runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { type Served, serveHandler } from '../../support/scripted-server.ts'

describe('the generated passwords of an import', function () {
  this.timeout(60_000)
  const sandbox = perTest(createSandbox)
  const rejects = (email: string) => email.startsWith('bad')
  const first = perTest(() => serveHandler(new UsersHandler({ rejects })))
  let server: Served<UsersHandler>
  let results: string

  beforeEach(() => {
    server = first
    results = join(sandbox.home, 'results.csv')
  })

  function file(name: string, text: string): string {
    const path = join(sandbox.home, name)
    writeFileSync(path, text)
    return path
  }
  const importing = (path: string, ...flags: string[]): Promise<Run> =>
    runChatctl(
      sandbox,
      ['users', 'import', path, '--yes', '--generate-passwords', '--results', results, ...flags],
      { service: server },
    )
  const sent = () => new Map([...server.report().users.values()].map((user) => [user.email, user.password]))
  const kept = () => parse(readFileSync(results), { columns: true, bom: true }) as Record<string, string>[]

  it('are different for each row, also if all rows are on one line', async () => {
    const emails = ['a@example.com', 'bad@example.com', 'c@example.com', 'own@example.com', 'e@example.com']
    const rows = emails.map((email) =>
      email.startsWith('own') ? { email, password: 'an-own-one' } : { email },
    )
    const path = file('users.json', JSON.stringify([{ email: 'no address' }, ...rows]))
    for (const run of [1, 2]) {
      expect((await importing(path, '--skip-invalid')).exitCode).to.equal(9)
      const made = kept().filter(({ status }) => status === 'created')
      expect(made).to.have.length(4)
      expect(new Set(sent().values()).size, `run ${run}`).to.equal(4)
      for (const { email = '', password } of made) {
        if (email.startsWith('own')) expect(password).to.equal('')
        else expect(sent().get(email)).to.equal(password)
      }
    }
  })

  it('are not lost if the results file was given another email', async () => {
    const path = file('users.csv', 'email\na@example.com\nbad@example.com\n')
    await importing(path)
    const edited = readFileSync(results, 'utf8').replace('a@example.com', 'z@example.com')
    writeFileSync(results, edited)
    expectFailure(await importing(path), 2, 'passwords of users that are not in the input')
    expect(readFileSync(results, 'utf8')).to.equal(edited)
  })

  it('are named only for users that were sent with them, if another command creates one later', async () => {
    const quota = { requests: 3, window: 60_000, headers: 'RateLimit' } as const
    await using limited = await serveHandler(new UsersHandler({ rejects, quota }))
    server = limited
    const path = file('users.csv', 'email\na@example.com\nbad@example.com\nc@example.com\nd@example.com\n')
    expect((await importing(path, '--concurrency', '1', '--max-wait', '0s')).exitCode).to.equal(75)
    const named = () => kept().map(({ email, password, status }) => [email, status, password])
    const passwordOf = (email: string) => sent().get(email)
    expect(named()).to.deep.equal([
      ['a@example.com', 'created', passwordOf('a@example.com')],
      ['bad@example.com', 'failed', ''],
      ['c@example.com', 'skipped', ''],
      ['d@example.com', 'skipped', ''],
    ])
    server.liftQuota()
    const create = ['users', 'create', '--email', 'd@example.com', '--no-password']
    expect((await runChatctl(sandbox, create, { service: server })).exitCode).to.equal(0)
    await importing(path)
    expect(named().map(([, , password]) => password)).to.deep.equal([
      ...[passwordOf('a@example.com'), '', passwordOf('c@example.com'), ''],
    ])
  })

  for (const name of ['results.csv', 'results.jsonl'])
    it(`are unknown in ${name} after a kill, and stay the same in the next run`, async () => {
      results = join(sandbox.home, name)
      const path = file('users.csv', 'email\na@example.com\nb@example.com\n')
      let killed = ''
      server.onRequest = ({ method, body }) => {
        if (method !== 'POST') return
        killed = readFileSync(results, 'utf8')
        expect(killed)
          .to.contain('the run ended before a response arrived')
          .and.contain(JSON.parse(body).password)
      }
      expect((await importing(path, '--concurrency', '1')).exitCode).to.equal(0)
      server.onRequest = undefined
      const whole = readFileSync(results, 'utf8')
      const lines = killed.trimEnd().split('\n')
      expect(lines.at(-1)).to.contain('"unknown"')
      // A killed run leaves an incomplete line for a create that was not sent.
      for (let end = 0; end < (lines[1]?.length ?? 0); end += 3) {
        writeFileSync(
          results,
          `${killed}${lines[1]?.replaceAll('a@example.com', 'c@example.com').slice(0, end)}`,
        )
        expect((await importing(path)).exitCode, `${end}`).to.equal(0)
        expect(readFileSync(results, 'utf8')).to.equal(whole)
      }
    })

  it('are not generated again for a create that may have succeeded, if the file does not have them', async () => {
    await using losing = await serveHandler(new UsersHandler({ fates: { refused: 1 } }))
    server = losing
    const path = file('users.csv', 'email\na@example.com\n')
    expect((await importing(path)).exitCode).to.equal(9)
    expect(kept()[0]).to.include({ status: 'unknown' }).and.property('password').match(/.{20}/)
    server.endFates()
    const [before, other] = [results, join(sandbox.home, 'other.csv')]
    results = other
    const again = await importing(path, '--on-unknown', 'retry')
    expect(again.stderr).to.contain(`${other} does not have the passwords of 1 user`)
    expect(kept()[0]).to.include({ status: 'created', password: '' })
    expect([...sent()]).to.deep.equal([['a@example.com', undefined]])
    expect(readFileSync(before, 'utf8')).to.contain(',unknown,')
  })

  it('are also generated by the command that the hint suggests for failed rows', async () => {
    const path = file('users.csv', 'email\na@example.com\nbad@example.com\n')
    const { stderr } = await importing(path)
    const [, hint = ''] = /Hint: {2}Fix the row, and run: chatctl (.*)$/m.exec(stderr) ?? []
    writeFileSync(join(sandbox.home, 'users.failed.csv'), 'email\nb@example.com\n')
    const env = { CHATCTL_API_KEY: 'some-api-key', CHATCTL_BASE_URL: server.url }
    expect((await runChatctl(sandbox, [...hint.split(' '), '--yes'], { env })).exitCode).to.equal(0)
    expect(sent().get('b@example.com')).to.match(/.{12}/)
  })

  it('are suggested if users have no password', async () => {
    const path = file('users.csv', 'email,password\na@example.com,\nb@example.com,pw\n')
    const run = () => runChatctl(sandbox, ['users', 'import', path, '--yes'], { service: server })
    expect((await run()).stderr).to.contain(
      'Warning: 1 new user without a password. If the service requires one, use --generate-passwords',
    )
    const shown = (await run()).stderr
    expect(shown).to.contain('done by earlier runs').and.not.to.contain('without a password')
    expect((await importing(path, '--restart')).stderr).not.to.contain('without a password')
  })

  it('are kept if a spreadsheet has saved the results file in another notation', async () => {
    const path = file('users.csv', 'email\r\na@example.com\r\nbad@example.com\r\nc@example.com\r\n')
    await importing(path)
    const before = kept()
    for (const [separator, end] of [
      [',', '\r\n'],
      [';', '\n;;;;;\n'],
      ['\t', '\r'],
    ] as const) {
      const text = readFileSync(results, 'utf8').replaceAll(',', separator).replaceAll('\n', end)
      writeFileSync(results, `\ufeff${text}`)
      expect((await importing(path)).exitCode).to.equal(9)
      expect(kept()).to.deep.equal(before)
    }
  })

  it('are in a file that no other process writes at the same time', async () => {
    const path = file('users.csv', 'email\na@example.com\n')
    const lock = () => tryProcessLock(`${results}.lock`)
    let isFree: boolean | undefined
    server.onRequest = ({ method }) => {
      if (method === 'POST') isFree = lock() !== undefined
    }
    expect((await importing(path)).exitCode).to.equal(0)
    expect(isFree).to.equal(false)
    const before = readFileSync(results, 'utf8')
    const release = lock()
    const other = await importing(file('others.csv', 'email\nb@example.com\n'))
    release?.()
    expectFailure(other, 7, `Another chatctl process is writing ${results}`)
    expect([readFileSync(results, 'utf8'), sent().size]).to.deep.equal([before, 1])
  })

  it('are not written to a device', async function () {
    if (process.platform === 'win32') this.skip()
    const path = file('users.csv', 'email\na@example.com\n')
    results = join(sandbox.home, 'out.jsonl')
    symlinkSync('/dev/null', results)
    expectFailure(await importing(path), 2, 'not a regular file')
    expect(sent().size).to.equal(0)
  })

  it('are not overwritten by the file of failed rows', async () => {
    const path = file('users.csv', 'email\na@example.com\nbad@example.com\n')
    results = join(sandbox.home, 'users.failed.csv')
    expectFailure(await importing(path), 2, 'chatctl writes failed or unknown rows there')
    expect(sent().size).to.equal(0)
  })
})
