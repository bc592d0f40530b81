import { globSync, readFileSync } from 'node:fs'
import { expect } from 'chai'
import { hintOf } from '../../../src/cli/errors/hints.ts'
import type { Advice, AdviceData } from '../../../src/contract/advice.ts'
import { Failure, unknownOutcome } from '../../../src/contract/failure.ts'

const failureWith = (...advice: Advice[]) => new Failure('refused', 'It failed', { advice })

describe('the hint of a failure', () => {
  const cases: [advice: Advice, hint: string][] = [
    [{ code: 'longer_timeout', ms: 300 }, 'Allow more time with: --timeout 1s'],
    [{ code: 'longer_timeout', ms: 60_000 }, 'Allow more time with: --timeout 2m'],
    [
      { code: 'longer_wait', ms: 1_799_500, until: '2026-01-31T08:00:00.250Z' },
      'Try again in 30 min (at 2026-01-31T08:00:00Z), or wait for it with: --max-wait 30m',
    ],
    [{ code: 'sign_in_again', profile: 'work' }, 'Sign in again with: chatctl auth login --profile work'],
    [
      { code: 'other_port', listener: 'service' },
      'Choose another port with --port, or any free port with --port 0',
    ],
    [
      { code: 'other_port', listener: 'admin' },
      'Choose another port with --admin-port, or any free port with --admin-port 0',
    ],
    [
      { code: 'create_database', exists: true },
      'Create the database with: createdb --encoding UTF8 --template template0',
    ],
    [
      { code: 'create_database', exists: false },
      'Create it with: createdb --encoding UTF8 --template template0',
    ],
    [
      { code: 'name_service_of_session', session: 's1', baseUrl: 'https://chat.example' },
      'Choose that service with: chatctl chat --resume s1 --base-url https://chat.example',
    ],
    [
      { code: 'name_service_of_session', session: 's1', baseUrl: null },
      'Choose that service with: chatctl chat --resume s1 --profile local',
    ],
  ]
  for (const [advice, hint] of cases) {
    it(`names flags and commands: ${hint}`, () => {
      expect(hintOf(failureWith(advice))).to.equal(hint)
    })
  }

  // Names with a space, if a person or a service chooses them.
  const named: {
    [Code in keyof AdviceData as keyof AdviceData[Code] extends never ? never : Code]: AdviceData[Code]
  } = {
    longer_timeout: { ms: 1 },
    longer_wait: { ms: 1, until: '2026-01-31T08:00:00Z' },
    other_scheme: { url: 'https://chat.example' },
    bypass_proxy: { variable: 'HTTPS_PROXY', host: 'a b' },
    check_address: { origin: 'http://127.0.0.1:8787' },
    only_owner_writes: { path: 'a b' },
    output_format: { format: 'json' },
    set_base_url: { profile: 'a b' },
    sign_in_again: { profile: 'a b' },
    find_token_endpoint_again: { profile: 'a b' },
    replace_credential: { profile: 'a b' },
    create_profile: { profile: 'a b' },
    other_redirect_host: { host: '127.0.0.1' },
    no_callback: { redirectUri: 'http://127.0.0.1/' },
    foreign_token_endpoint: { tokenEndpoint: 'a b' },
    gitlab_id_token: { audience: 'a b' },
    audience_of_identity_token: { audience: 'https://chat.example' },
    trust_issuer: { issuer: 'a b', subject: 'a b', audience: 'a b' },
    check_credential_command: { line: 'pass show', profile: 'a b' },
    other_port: { listener: 'service' },
    end_services: { processIds: [1] },
    unprivileged_port: { listener: 'service' },
    model_server_address: { meant: 'ollama' },
    create_database: { exists: true },
    reset_password: { email: 'a b' },
    make_admin: { userId: 'a b' },
    revoke_trust: { name: 'a b' },
    check_other_service: { url: 'http://127.0.0.1/', place: '/a b/chatctl.db' },
    name_service_of_session: { session: 'a b', baseUrl: 'a b' },
    other_part: { part: 'settings' },
    check_settings: { command: 'chatctl settings get' },
    adopt_email: { email: 'a b', state: 'a b' },
    adopt_existing: { email: 'a b', id: 'a b' },
    longer_total_wait: { ms: 1, until: '2026-01-31T08:00:00Z', total: null },
    name_unknown_row: { places: '--line 1' },
    resume_with_passwords: { path: 'a b' },
    skip_invalid: { faults: 1 },
  }

  it('quotes every name with a space, so that each command line can be pasted', () => {
    for (const [code, data] of Object.entries(named)) {
      const hint = hintOf(failureWith({ code, ...data } as Advice)) ?? ''
      expect(hint, code).not.to.equal('')
      expect(hint.replaceAll(/"[^"]*"|'[^']*'/g, ''), code).not.to.include('a b')
    }
  })

  it('never contains a value that is not quoted as the value of a flag', () => {
    const source = new URL('../../../src/', import.meta.url)
    const files = ['cli', 'commands'].flatMap((layer) =>
      globSync(`${layer}/**/*.ts`, { cwd: source }).filter((file) => !file.includes('/help/')),
    )
    // Of these flags, a person chooses the values.
    const flags = 'profile|base-url|file|state|data|database|results|to|name|scope|client-id|context'
    const unquoted = new RegExp(`--(${flags})[ =]\\$\\{(?!quoteWord\\()`)
    const wrong = files.flatMap((file) =>
      readFileSync(new URL(file, source), 'utf8')
        .split('\n')
        .filter((line) => unquoted.test(line) && !/Failure\('usage', `--/.test(line))
        .map((line) => `${file}: ${line.trim()}`),
    )
    expect(files).to.have.length.above(100)
    expect(wrong).to.deep.equal([])
  })

  it('keeps the path of the base URL when it names the other scheme', () => {
    const failure = failureWith({ code: 'other_scheme', url: 'https://chat.example' })
    for (const [baseUrl, corrected] of [
      ['http://chat.example/team/', 'https://chat.example/team/'],
      ['http://chat.example', 'https://chat.example'],
      ['http://other.example/team', 'https://chat.example'],
    ] as const) {
      const connection = { baseUrl, baseUrlFrom: 'flag', profile: undefined } as const
      expect(hintOf(failure, connection)).to.equal(`Use this base URL: --base-url ${corrected}`)
    }
  })

  it('starts with the hint of the failure, followed by each piece of advice', () => {
    const advice: Advice[] = [{ code: 'longer_timeout', ms: 500 }, { code: 'list_keys' }]
    const failure = new Failure('timeout', 'It failed', { hint: 'Look first.', advice })
    expect(hintOf(failure)).to.equal(
      'Look first. Allow more time with: --timeout 1s. List the keys with: chatctl service keys list',
    )
  })

  it('contains only what to check if the outcome is unknown', () => {
    const failure = unknownOutcome(failureWith({ code: 'longer_timeout', ms: 500 }), 'Check it.')
    expect(hintOf(failure)).to.equal('Check it.')
  })
})
