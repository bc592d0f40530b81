import { globSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { parse } from 'csv-parse/sync'
import { expectFailure } from '../support/expect-failure.ts'
import { perTest } from '../support/lifetime.ts'
import { type Run, runChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'
import { UsersServer } from '../support/users-server.ts'

describe('the generated passwords of an import', function () {
  this.timeout(60_000)
  const sandbox = perTest(createSandbox)
  const server = perTest(() => UsersServer.start({ rejects: (email) => email.startsWith('bad') }))
  let results: string

  beforeEach(() => {
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
      { env: { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'some-api-key' } },
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

  const edits: [name: string, edit: (lines: string[]) => string][] = [
    ['sorted in another order', ([header = '', ...rows]) => [header, ...rows.reverse()].join('\n')],
    ['written with semicolons', (lines) => lines.join('\n').replaceAll(',', ';')],
    ['written without the line column', (lines) => lines.map((line) => line.replace(/^\w+,/, '')).join('\n')],
    ['given another email', (lines) => lines.join('\n').replace('a@example.com', 'z@example.com')],
    ['truncated within a quoted field', (lines) => `${lines.slice(0, 2).join('\n')}\n"`],
  ]
  for (const [name, edit] of edits) {
    it(`are not lost if the results file was ${name}`, async () => {
      const path = file('users.csv', 'email\na@example.com\nbad@example.com\nc@example.com\n')
      await importing(path)
      const edited = edit(readFileSync(results, 'utf8').trim().split('\n'))
      writeFileSync(results, edited)
      expectFailure(await importing(path), 1, 'Restore its earlier content')
      expect(readFileSync(results, 'utf8')).to.equal(edited)
      expect(globSync(join(sandbox.home, '.*.part'))).to.deep.equal([])
    })
  }

  it('are suggested if users have no password', async () => {
    const path = file('users.csv', 'email,password\na@example.com,\nb@example.com,pw\n')
    const env = { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'some-api-key' }
    const { stderr } = await runChatctl(sandbox, ['users', 'import', path, '--yes'], { env })
    expect(stderr).to.contain(
      'Warning: 1 new user without a password. If the service requires one, use --generate-passwords',
    )
    expect((await importing(path, '--restart')).stderr).not.to.contain('without a password')
  })

  it('are kept if the results file has other line endings or a byte order mark', async () => {
    const path = file('users.csv', 'email\r\na@example.com\r\nbad@example.com\r\nc@example.com\r\n')
    await importing(path)
    const before = kept()
    writeFileSync(results, `\ufeff${readFileSync(results, 'utf8').replaceAll('\n', '\r\n')}`)
    expect((await importing(path)).exitCode).to.equal(9)
    expect(kept()).to.deep.equal(before)
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
