import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import stringWidth from 'string-width'
import type { Outcome } from '../../../src/contract/failure.ts'
import { Ledger } from '../../../src/ledger/ledger.ts'
import { LedgerRun } from '../../../src/ledger/ledger-run.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { Directories } from '../../../src/system/files/directories.ts'
import { describeChecks } from '../../../src/view/checks.ts'
import { perTest } from '../../support/lifetime.ts'
import { ledgersOf } from '../../support/recorded-changes.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { diagnose } from './checks.ts'

describe('doctor on the local machine', () => {
  const sandbox = perTest(() => createSandbox({ ownCache: true }))

  function configure(value: unknown): void {
    const directory = join(sandbox.home, '.config', 'chatctl')
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    chmodSync(directory, 0o700)
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    writeFileSync(join(directory, 'config.json'), text, { mode: 0o600 })
  }

  it('finds no problem on a new machine, and creates no data', async () => {
    const { exitCode, all, found } = await diagnose(sandbox)
    expect(exitCode).to.equal(0)
    expect(all.filter(({ status }) => !['ok', 'skipped'].includes(status))).to.deep.equal([])
    expect(found('version').message).to.contain(process.versions.node)
    expect(found('service').status).to.equal('skipped')
    expect(found('models').message).to.equal('no data yet')
    expect(existsSync(join(sandbox.home, '.local', 'share', 'chatctl'))).to.equal(false)
  })

  it('reports on the data of the embedded service', async () => {
    await runChatctl(sandbox, ['service', 'keys', 'create', '--name', 'x'])
    const { exitCode, found } = await diagnose(sandbox)
    expect(exitCode).to.equal(0)
    expect(found('models').message).to.equal('test-program (the built-in test program)')
    expect(found('service').message).to.contain('signed in as')
    expect(found('data').message).to.match(/1 user, 0 messages; no server is running; .* free$/)
    // It names the database of `service` commands only.
    const env = { CHATCTL_DATABASE_FILE: '/nowhere' }
    expect((await diagnose(sandbox, [], { env })).found('data').message).to.contain('1 user, 0 messages')
    const elsewhere = await diagnose(sandbox, ['--base-url', 'http://127.0.0.1:1', '--retries', '0'])
    expect(elsewhere.found('data').message).to.contain('of the embedded service, which is not selected')
  })

  it('reports a damaged database', async () => {
    const directory = join(sandbox.home, '.local', 'share', 'chatctl')
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    writeFileSync(join(directory, 'chatctl.db'), 'no database at all '.repeat(100), { mode: 0o600 })
    const { exitCode, found } = await diagnose(sandbox)
    expect(exitCode).to.equal(1)
    expect(found('data').status).to.equal('failed')
    expect(found('data').message).to.contain('chatctl.db')
  })

  it('fails and names XDG_DATA_HOME if the data directory cannot be created', async () => {
    const env = { XDG_DATA_HOME: '/dev/null' }
    const { exitCode, found } = await diagnose(sandbox, [], { env })
    expect(exitCode).to.equal(1)
    expect(found('data').hint).to.contain('XDG_DATA_HOME')
  })

  it('continues after a configuration that it cannot read', async () => {
    configure('invalid')
    const { exitCode, found } = await diagnose(sandbox)
    expect(exitCode).to.equal(2)
    expect(found('configuration').status).to.equal('failed')
    expect(found('configuration').hint).to.contain('config.json')
    expect(found('address').status).to.equal('skipped')
    expect(found('imports').status).to.equal('ok')
  })

  it('warns about every profile, not only the one in use', async () => {
    configure({
      profiles: { work: { base_url: 'https://chat.example', timeout: 'soon' }, empty: { model: 'x' } },
    })
    const { exitCode, all } = await diagnose(sandbox)
    expect(exitCode).to.equal(0)
    const faults = all.filter(({ check }) => check === 'configuration')
    expect(faults.map(({ status }) => status)).to.deep.equal(['warning', 'warning'])
    expect(faults[0]?.hint).to.equal('Set it with: chatctl config set timeout VALUE --profile work')
    expect(faults[1]?.hint).to.contain('auth login --profile empty')
  })

  it('warns about a directory with an unknown profile', async () => {
    configure({
      directories: { '~/my work': 'gone' },
      profiles: { work: { base_url: 'https://chat.example' } },
    })
    const { exitCode, all } = await diagnose(sandbox)
    expect(exitCode).to.equal(0)
    expect(all.filter(({ check }) => check === 'configuration')).to.deep.equal([
      {
        check: 'configuration',
        status: 'warning',
        message: 'The profile of the directory ~/my work is "gone", which does not exist',
        hint: 'Remove the directory with: chatctl config unset "directory.~/my work"',
      },
    ])
  })

  it('warns about a misspelled CHATCTL_ variable without showing its value', async () => {
    const env = { CHATCTL_BASEURL: 'canary', CHATCTL_SOMETHING_ELSE: 'x', CHATCTL_QUIET: '0' }
    const { exitCode, all, found } = await diagnose(sandbox, [], { env })
    expect(exitCode).to.equal(0)
    expect(found('environment')).to.include({
      status: 'warning',
      message: 'CHATCTL_BASEURL is not a variable of chatctl',
      hint: 'Did you mean CHATCTL_BASE_URL? Otherwise: unset CHATCTL_BASEURL',
    })
    expect(JSON.stringify(all)).not.to.contain('canary')
    const known = await diagnose(sandbox, [], { env: { CHATCTL_RETRIES: '1' } })
    expect(known.found('environment').message).to.equal('set: CHATCTL_RETRIES')
  })

  it('warns about each directory that is not writable, with the effect and the variable that moves it', async () => {
    expect((await diagnose(sandbox)).found('directories').status).to.equal('ok')
    const file = join(sandbox.home, 'file')
    writeFileSync(file, '')
    for (const [variable, effect] of [
      ['XDG_CONFIG_HOME', 'profiles cannot be changed'],
      ['XDG_DATA_HOME', 'sessions and the data of the embedded service cannot be stored'],
      ['XDG_STATE_HOME', 'users import and history export fail'],
    ] as const) {
      const { all } = await diagnose(sandbox, [], { env: { [variable]: file } })
      const [finding, ...others] = all.filter(({ check }) => check === 'directories')
      expect(others).to.deep.equal([])
      expect(finding?.status).to.equal('warning')
      expect(finding?.message).to.contain(`cannot be created in ${file}: not a directory; ${effect}`)
      expect(finding?.hint).to.equal(`Set ${variable} to a directory that you can write to.`)
    }
  })

  it('shows the command that resumes each unfinished import', async () => {
    const directories = new Directories(sandbox.env)
    /** Begins an import, and sends creates with these outcomes. */
    const plant = async (
      file: string,
      rows: number,
      sent: readonly Outcome[],
      ended?: 'finished' | 'closed',
    ) => {
      const service = 'https://chat.example/'
      const about = { command: 'users import', service }
      const run = new LedgerRun(Ledger.of(directories, service), about, systemClock)
      const note = { import: 'users' as const, file, rows, restarted: false }
      await run.note(note)
      for (const [index, outcome] of sent.entries()) {
        const body = { email: `user${index}@${file.length}.example` }
        const change = {
          method: 'POST',
          path: '/v1/users',
          endpoint: 'createUser',
          user: undefined,
          body,
        } as const
        const end = await run.begin(change)
        end({ outcome, status: outcome === 'done' ? 201 : undefined })
      }
      if (ended) await run.note({ ...note, ended })
      run.close()
    }
    await plant('/srv/half done.csv', 3, ['done', 'refused'])
    await plant('/srv/unknown.csv', 2, ['done', 'unknown'])
    await plant('/srv/some-invalid.csv', 3, ['done'], 'finished')
    await plant('/srv/given-up.csv', 3, ['unknown'], 'closed')
    const [path = ''] = ledgersOf(sandbox)
    const before = readFileSync(path, 'utf8')
    const { all, exitCode } = await diagnose(sandbox)
    const imports = all.filter(({ check }) => check === 'imports')
    expect(imports.map(({ status }) => status)).to.deep.equal(['ok', 'warning'])
    expect(imports[0]).to.include({
      message: '/srv/half done.csv: 1 of 3 rows were sent to https://chat.example/',
      hint: 'Add --close to abandon it, or resume it: chatctl users import "/srv/half done.csv" --base-url https://chat.example/',
    })
    expect(imports[1]?.message).to.contain('the outcome of 1 row is unknown')
    expect(exitCode).to.equal(0)
    expect(readFileSync(path, 'utf8')).to.equal(before)

    // The hint must name the profile: with a base URL alone, its credential is not used.
    configure({ profiles: { 'at work': { base_url: 'https://chat.example' } } })
    const again = (await diagnose(sandbox)).all.filter(({ check }) => check === 'imports')
    expect(again[0]?.hint).to.equal(
      'Add --close to abandon it, or resume it: chatctl users import "/srv/half done.csv" --profile "at work"',
    )
  })
})

describe('the table of doctor', () => {
  const checks = [
    { check: 'version', status: 'ok', message: 'chatctl 1', hint: null },
    { check: 'cache', status: 'warning', message: 'one two three four five six', hint: 'Do this or that.' },
    { check: 'service', status: 'failed', message: 'No', hint: 'chatctl auth login --profile a-long-name' },
    { check: 'data', status: 'skipped', message: 'not \u001b[31mnow', hint: null },
  ] as const
  const text = (style: { width: number; unicode: boolean }) =>
    describeChecks(checks, style)
      .map((span) => span.text)
      .join('')

  it('aligns its columns and never wraps a command', () =>
    expect(text({ width: 40, unicode: true })).to.equal(`ok       version  chatctl 1
warning  cache    one two three four
                  five six
                  → Do this or that.
failed   service  No
                  → chatctl auth login --profile a-long-name
skipped  data     not [31mnow

1 failure, 1 warning.
`))

  it('puts the command of a long hint on a separate line, below the hint', () => {
    const hint = 'Get replies from a model with: chatctl config set model_server=ollama'
    const check = { check: 'model server', status: 'ok', message: 'none is set', hint } as const
    const shown = describeChecks([check], { width: 60, unicode: true }).map((span) => span.text)
    expect(shown.join('')).to.contain(`ok       model server  none is set
                       → Get replies from a model with:
                           chatctl config set model_server=ollama
`)
  })

  it('fits every width except for commands', () => {
    for (const width of [40, 60, 100]) {
      for (const line of text({ width, unicode: true })
        .split('\n')
        .filter((one) => !one.includes('chatctl auth')))
        expect(stringWidth(line), `${width}: ${line}`).to.be.at.most(width)
    }
  })
})
