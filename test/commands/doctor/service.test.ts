import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { expect } from 'chai'
import stringWidth from 'string-width'
import type { Outcome } from '../../../src/contract/failure.ts'
import { Ledger } from '../../../src/ledger/ledger.ts'
import { LedgerRun } from '../../../src/ledger/ledger-run.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { Directories } from '../../../src/system/files/directories.ts'
import { describeChecks } from '../../../src/view/checks.ts'
import { makeCertificate } from '../../support/certificate.ts'
import { expectFailure, expectSuccess } from '../../support/expect-failure.ts'
import { perTest } from '../../support/lifetime.ts'
import { startModelServer } from '../../support/model-server.ts'
import { ledgersOf } from '../../support/recorded-changes.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import {
  type Behavior,
  deadUrl,
  empty,
  failing,
  hangUp,
  json,
  type Script,
  startScriptedServer,
  tunnelTo,
} from '../../support/scripted-server.ts'
import { diagnose } from './checks.ts'

const key = 'canary-of-the-doctor'
const owner = { id: 'u1', email: 'ada@example.com', name: 'Ada' }
const profile = { ...owner, created_at: '2026-01-02T03:04:05Z', preferences: {} }
const model = (id: string) => ({ id, created: 1, object: 'model', owned_by: 'x' })

/** A service that lists its models with `models`, and responds to others with `others`. */
const serviceWith = (models: Behavior, others: Behavior = json(200, profile)): Script => ({
  choose: ({ path }) => (path.endsWith('/models') ? models : others),
})
/** A service without problems, with the given headers. */
const well = (headers: Record<string, string> = {}): Script =>
  serviceWith(json(200, { data: ['a', 'b', 'c', 'd'].map(model) }, headers), json(200, profile, headers))

describe('doctor on a service', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(startScriptedServer)
  const once = ['--retries', '0']

  const diagnoseAt = (url: string, args: readonly string[] = [], more: NodeJS.ProcessEnv = {}) =>
    diagnose(sandbox, args, { env: { CHATCTL_BASE_URL: url, CHATCTL_API_KEY: key, ...more } })
  const meet = async (script: Script, ...more: [args?: readonly string[], env?: NodeJS.ProcessEnv]) =>
    diagnoseAt(await server.serve(script), ...more)
  /** Runs with another certificate that this machine trusts. */
  async function trusting<T>(certificate: { cert: string }, run: () => Promise<T>): Promise<T> {
    const authorities = getCACertificates()
    setDefaultCACertificates([...authorities, certificate.cert])
    return run().finally(() => setDefaultCACertificates(authorities))
  }

  it('sends two GET requests and shows no secret', async () => {
    const { all, found } = expectSuccess(await meet(well()))
    const list =
      'If a check was added to src/commands/doctor/examine.ts, add it here, in the order of the table'
    const shown = all.map(({ check }) => check)
    expect(shown, list).to.deep.equal([
      ...'version configuration environment directories address credential keychain network'.split(' '),
      'model server',
      ...'service clock quota models data imports'.split(' '),
    ])
    const seen = server.requests.map(({ method, path }) => `${method} ${path}`)
    expect(seen).to.deep.equal(['GET /api/user/profile', 'GET /v1/chat/models'])
    expect(JSON.stringify(all)).not.to.contain(key)
    expect(found('service').message).to.match(/^responds in \d+ ms; signed in as ada@example\.com$/)
    expect(found('credential').message).to.contain('CHATCTL_API_KEY')
    expect(found('network').message).to.match(/ is 127\.0\.0\.1, connected in \d+ ms$/)
    expect(found('clock').status).to.equal('ok')
    expect(found('models')).to.include({ status: 'ok', message: 'a, b, c and 1 more' })
  })

  it('names the other scheme in both checks if the server does not speak TLS', async () => {
    const url = await server.serve(well())
    const { found, exitCode } = await diagnoseAt(url.replace('http:', 'https:'), once)
    expect(exitCode).to.equal(69)
    for (const check of ['network', 'service']) {
      expect(found(check).message).to.match(/the server does not speak TLS$/)
      expect(found(check).hint).to.equal(`Use this base URL: --base-url ${url}`)
    }
  })

  it('does not suggest itself if the service cannot be reached', async () => {
    const shown = (await diagnoseAt(await deadUrl(), once)).found('network').hint
    expect(shown).to.contain('Check that the service is running, and that the base URL is correct.')
  })

  it('suggests to check the key for a 401, but not for a 500', async () => {
    for (const status of [401, 500]) {
      const { found } = await meet(failing(status, 'its_own', 'In its own words'), once)
      expect(String(found('service').hint).includes('CHATCTL_API_KEY')).to.equal(status === 401)
    }
  })

  it('shows the remaining quota, and warns if little is left', async () => {
    const plenty = { 'ratelimit-limit': '100', 'ratelimit-remaining': '73', 'ratelimit-reset': '90' }
    const message = '73 of 100 requests are left, resets in 90s'
    expect((await meet(well(plenty))).found('quota')).to.include({ status: 'ok', message })
    const little = { ratelimit: '"hour";r=3;t=60', 'ratelimit-policy': '"hour";q=100;w=3600' }
    const { exitCode, found } = await meet(well(little))
    expect(found('quota').status).to.equal('warning')
    expect(found('quota').hint).to.contain('--max-wait 60s')
    expect(exitCode).to.equal(0)
  })

  it('compares the clocks even if the service refuses the credential', async () => {
    const date = new Date(Date.now() - 600_000).toUTCString()
    const { found, exitCode } = await meet(failing(401, 'invalid_key', 'Invalid API key', { date }))
    expect(exitCode).to.equal(4)
    const message = `Invalid API key (401, GET ${server.url}/api/user/profile)`
    expect(found('service')).to.include({ status: 'failed', message })
    expect(found('service').hint).to.contain('CHATCTL_API_KEY')
    expect(found('clock').status).to.equal('warning')
    expect(found('clock').message).to.match(/^is 6[01]\d s ahead of the clock of the service/)
    expect(found('models').status).to.equal('skipped')
  })

  it('warns if the models cannot be listed or lack the configured model', async () => {
    const refused = await meet(serviceWith(failing(403, 'forbidden', 'Not for you')))
    expect(refused.exitCode).to.equal(0)
    const message = `cannot be listed: Not for you (403, GET ${server.url}/v1/chat/models)`
    expect(refused.found('models')).to.include({ status: 'warning', message })
    const models = (await meet(well(), [], { CHATCTL_MODEL: 'z' })).found('models')
    expect(models).to.include({ status: 'warning', hint: 'List them with: chatctl chat models' })
    expect(models.message).to.contain('z, from CHATCTL_MODEL, is not one of the 4 models')
  })

  it('warns about a response that departs from the interface', async () => {
    const { found } = expectSuccess(await meet(json(200, { ...profile, email: 7, data: [] })))
    expect(found('service').status).to.equal('warning')
    expect(found('service').message).to.contain('email')
  })

  it('names the proxy in use, without its password', async () => {
    const certificate = makeCertificate('service.test')
    await using secured = await startScriptedServer(well(), { certificate })
    await using proxy = await startScriptedServer(tunnelTo(() => new URL(secured.url).port))
    const { host } = new URL(proxy.url)
    const examine = async (env: NodeJS.ProcessEnv = {}) => {
      const HTTPS_PROXY = `http://user:hunter2@${host}`
      const args = ['--timeout', '1s', ...once]
      const diagnosis = await diagnoseAt('https://service.test', args, { HTTPS_PROXY, ...env })
      expect(JSON.stringify(diagnosis.all)).not.to.contain('hunter2')
      return diagnosis.found
    }
    const distrusted = await examine()
    for (const name of ['network', 'service']) {
      const message =
        'Cannot open a TLS connection to https://service.test, so nothing was sent: the certificate is self-signed'
      expect(distrusted(name)).to.include({ status: 'failed', message })
      expect(distrusted(name).hint).to.contain('NODE_USE_SYSTEM_CA=1')
    }
    const through = await trusting(certificate, examine)
    expect(through('network').message)
      .to.match(/^through the proxy http:\/\/[\d.:]+, .*, TLS 1\.3, certificate valid until/)
      .and.contain(host)
    expect(through('service').status).to.equal('ok')
    await proxy.serve(hangUp)
    const hung = (await examine())('network').message
    expect(hung).to.contain(`Cannot reach the proxy ${proxy.url} (HTTPS_PROXY)`)
    const around = (await examine({ NO_PROXY: '.test' }))('network')
    expect(around.status).to.equal('failed')
    expect(around.message).to.contain('service.test')
  })

  it('checks the TLS certificate', async () => {
    const certificate = makeCertificate('127.0.0.1')
    await using secured = await startScriptedServer(well(), { certificate })
    const unknown = await diagnoseAt(secured.url)
    expect(unknown.exitCode).to.equal(69)
    expect(unknown.found('network').hint).to.contain('NODE_EXTRA_CA_CERTS')
    const refused = await diagnoseAt(secured.url, [], { NODE_TLS_REJECT_UNAUTHORIZED: '0' })
    expect(refused.found('network').status).to.equal('failed')
    expect(refused.found('service').message).to.contain('NODE_TLS_REJECT_UNAUTHORIZED=0')
    // Node.js reads NODE_EXTRA_CA_CERTS only when a process starts.
    const known = await trusting(certificate, () => diagnoseAt(secured.url))
    expect(known.exitCode).to.equal(0)
    expect(known.found('network').status).to.equal('warning')
    const shown = known.found('network').message
    expect(shown).to.match(/TLS 1\.3, certificate valid until \d{4}-\d\d-\d\d: 0 days left/)
  })
})

describe('doctor on the model server', () => {
  const sandbox = perTest(createSandbox)
  const use = (modelServer: string) => runChatctl(sandbox, ['config', 'set', 'model_server', modelServer])
  /** Expects the exit code. @returns the check of the model server */
  const check = async (exitCode: number) => {
    const { found, ...diagnosis } = await diagnose(sandbox)
    expect(diagnosis.exitCode).to.equal(exitCode)
    return found('model server')
  }

  it('says that the test program replies, and how to change that', async () => {
    const hint = 'Get replies from a model with: chatctl config set model_server=ollama'
    const message = 'none is set; the built-in test program replies'
    expect(await check(0)).to.include({ status: 'ok', message, hint })
  })

  it('says where it comes from and how many models it has, before the service has data', async () => {
    await using server = await startModelServer()
    await use(server.url)
    const { found } = expectSuccess(await diagnose(sandbox))
    expect(found('model server').message).to.equal(`${server.url}, from the configuration file, has 3 models`)
    expect(found('models').message).to.equal('no data yet')
  })

  it('warns about one without models', async () => {
    await using server = await startModelServer({ models: [] })
    await use(server.url)
    const { status, message } = await check(0)
    expect(status).to.equal('warning')
    expect(message).to.include('has no models')
  })

  it('exits 69 if it does not respond', async () => {
    const server = await startModelServer()
    await use(server.url)
    await server.close()
    const { status, message, hint } = await check(69)
    expect(status).to.equal('failed')
    expect(hint).to.equal('Start the model server, or stop using it with: chatctl config unset model_server')
    expect(message).to.include(`Cannot reach the model server ${server.url}`)
  })

  const systemCa = 'NODE_USE_SYSTEM_CA=1'
  const needs = (scheme: string) => `must begin with ${scheme}://`
  const untrusted = 'Cannot open a TLS connection to S, so nothing was sent: '
  const onlyTls = 'Cannot reach S: the server speaks only TLS'
  const local = '127.0.0.1'
  for (const [what, host, scheme, reason, hint] of [
    ['an untrusted certificate', local, 'https', `${untrusted}the certificate is self-signed`, systemCa],
    ['TLS at an address of plain HTTP', local, 'http', onlyTls, needs('https')],
    [
      'plain HTTP at an address of TLS',
      undefined,
      'https',
      `${untrusted}the server does not speak TLS`,
      needs('http'),
    ],
  ] as const)
    it(`says the same as a command about ${what}`, async () => {
      await using server = await startScriptedServer(empty, host && { certificate: makeCertificate(host) })
      const url = `${server.url.replace(/^https?/, scheme)}/v1`
      await use(url)
      const found = await check(69)
      const message = reason.replace(/\bS\b/, `the model server ${url}`)
      expect(found).to.include({ status: 'failed', message: `${message}, from the configuration file` })
      expect(found.hint).to.include(hint)
      expectFailure(await runChatctl(sandbox, ['chat', 'send', 'hi']), 69, message, hint)
      expect(server.requests).to.deep.equal([])
    })

  it('names a proxy that does not work, and how to bypass it', async () => {
    const url = 'http://models.test:8000/v1'
    await use(url)
    const env = { HTTP_PROXY: 'user:canary@127.0.0.1:9' }
    const { found, all } = await diagnose(sandbox, [], { env })
    expect(found('model server').message).to.include(
      `Cannot reach the proxy of HTTP_PROXY for the model server ${url}: connection refused`,
    )
    const shown = found('model server').hint
    expect(shown).to.equal('Check HTTP_PROXY, or bypass the proxy with: export NO_PROXY=models.test')
    expect(JSON.stringify(all)).not.to.include('canary')
  })

  it('says what to do if it responds with an error', async () => {
    const server = await startScriptedServer(failing(401, 'invalid_api_key', 'No'))
    const key = join(sandbox.home, 'up.key')
    writeFileSync(key, 'sk-canary', { mode: 0o600 })
    const set = (file: string) => runChatctl(sandbox, ['config', 'set', 'model_server_key_file', file])
    const hint = async () => {
      const { exitCode, found } = await diagnose(sandbox)
      expect(exitCode).to.equal(69)
      expect(found('configuration').status).to.equal('ok')
      return found('model server').hint
    }
    await use(`${server.url}/v1`)
    expect(await hint()).to.include('run: chatctl config set model_server_key_file=FILE')
    await set(key)
    expect(await hint()).to.equal(`Check the key of the model server in ${key}`)
    const sent = await runChatctl(sandbox, ['chat', 'send', 'hi'])
    expectFailure(sent, 69, 'rejects the credentials', `Check the key of the model server in ${key}`)
    await server.close()
    await using other = await startScriptedServer(failing(404, 'not_found', 'No'))
    await use(other.url)
    expect(await hint()).to.equal('Most model servers need /v1 at the end of the address.')
  })

  it('is skipped for another service', async () => {
    const { found } = await diagnose(sandbox, ['--base-url', 'http://127.0.0.1:1', '--retries', '0'])
    expect(found('model server').status).to.equal('skipped')
  })
})

describe('doctor on the local machine', () => {
  const sandbox = perTest(() => createSandbox({ ownCache: true }))

  function write(directory: string, name: string, text: string): void {
    const path = join(sandbox.home, directory, 'chatctl')
    mkdirSync(path, { recursive: true, mode: 0o700 })
    chmodSync(path, 0o700)
    writeFileSync(join(path, name), text, { mode: 0o600 })
  }
  const configure = (value: object) => write('.config', 'config.json', JSON.stringify(value))

  it('finds no problem on a new machine, and creates no data', async () => {
    const { all, found } = expectSuccess(await diagnose(sandbox))
    expect(all.filter(({ status }) => !['ok', 'skipped'].includes(status))).to.deep.equal([])
    expect(found('version').message).to.contain(process.versions.node)
    expect(found('service').status).to.equal('skipped')
    expect(found('models').message).to.equal('no data yet')
    expect(existsSync(join(sandbox.home, '.local', 'share', 'chatctl'))).to.equal(false)
  })

  it('reports on the data of the embedded service', async () => {
    await runChatctl(sandbox, ['service', 'keys', 'create', '--name', 'x'])
    const { found } = expectSuccess(await diagnose(sandbox))
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
    write('.local/share', 'chatctl.db', 'no database at all '.repeat(100))
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
    write('.config', 'config.json', 'invalid')
    const { exitCode, found } = await diagnose(sandbox)
    expect(exitCode).to.equal(2)
    expect(found('configuration').status).to.equal('failed')
    expect(found('configuration').hint).to.contain('config.json')
    expect(found('address').status).to.equal('skipped')
    expect(found('imports').status).to.equal('ok')
  })

  it('warns about every profile, not only the one in use', async () => {
    const work = { base_url: 'https://chat.example', timeout: 'soon' }
    configure({ profiles: { work, empty: { model: 'x' } } })
    const { all } = expectSuccess(await diagnose(sandbox))
    const faults = all.filter(({ check }) => check === 'configuration')
    expect(faults.map(({ status }) => status)).to.deep.equal(['warning', 'warning'])
    expect(faults[0]?.hint).to.equal('Set it with: chatctl config set timeout VALUE --profile work')
    expect(faults[1]?.hint).to.contain('auth login --profile empty')
  })

  it('warns about a directory with an unknown profile', async () => {
    const profiles = { work: { base_url: 'https://chat.example' } }
    configure({ directories: { '~/my work': 'gone' }, profiles })
    const { all } = expectSuccess(await diagnose(sandbox))
    const message = 'The profile of the directory ~/my work is "gone", which does not exist'
    const hint = 'Remove the directory with: chatctl config unset "directory.~/my work"'
    const [found, ...others] = all.filter(({ check }) => check === 'configuration')
    expect(found).to.deep.equal({ check: 'configuration', status: 'warning', message, hint })
    expect(others).to.deep.equal([])
  })

  it('warns about a misspelled CHATCTL_ variable without showing its value', async () => {
    const env = { CHATCTL_BASEURL: 'canary', CHATCTL_SOMETHING_ELSE: 'x', CHATCTL_QUIET: '0' }
    const { all, found } = expectSuccess(await diagnose(sandbox, [], { env }))
    const hint = 'Did you mean CHATCTL_BASE_URL? Otherwise: unset CHATCTL_BASEURL'
    const message = 'CHATCTL_BASEURL is not a variable of chatctl'
    expect(found('environment')).to.include({ status: 'warning', message, hint })
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
    const hint = 'Add --close to abandon it, or resume it: chatctl users import "/srv/half done.csv"'
    const message = '/srv/half done.csv: 1 of 3 rows were sent to https://chat.example/'
    expect(imports[0]).to.include({ message, hint: `${hint} --base-url https://chat.example/` })
    expect(imports[1]?.message).to.contain('the outcome of 1 row is unknown')
    expect(exitCode).to.equal(0)
    expect(readFileSync(path, 'utf8')).to.equal(before)

    // The hint must name the profile: with a base URL alone, its credential is not used.
    configure({ profiles: { 'at work': { base_url: 'https://chat.example' } } })
    const again = (await diagnose(sandbox)).all.filter(({ check }) => check === 'imports')
    expect(again[0]?.hint).to.equal(`${hint} --profile "at work"`)
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
    for (const width of [40, 60, 100])
      for (const line of text({ width, unicode: true }).split('\n'))
        if (!line.includes('chatctl auth'))
          expect(stringWidth(line), `${width}: ${line}`).to.be.at.most(width)
  })
})
