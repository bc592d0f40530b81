import { globSync, readFileSync } from 'node:fs'
import { expect } from 'chai'
import { hintOf } from '../../../src/cli/errors/hints.ts'
import type { Advice } from '../../../src/contract/advice.ts'
import { Failure, unknownOutcome } from '../../../src/contract/failure.ts'
import { adviceData } from '../../support/advice-data.ts'

const failureWith = (...advice: Advice[]) => new Failure('refused', 'It failed', { advice })

describe('the hint of a failure', () => {
  /** With the data of test/support/advice-data.ts. */
  const hints: Partial<Record<Advice['code'], string>> = {
    bypass_proxy: 'Check HTTPS_PROXY, or bypass the proxy with: export NO_PROXY="a b"',
    only_owner_writes: 'sudo chown 1000 "a b"',
    unusable_credential: 'Enter it again, without surrounding characters.',
    find_token_endpoint_again: 'Look up the current token endpoint with: chatctl auth login --profile "a b"',
    create_profile:
      'Check the name with: chatctl auth list. To create the profile, run: chatctl auth login --profile "a b" --base-url https://…',
    foreign_token_endpoint: 'If you trust it, run: export CHATCTL_TOKEN_URL="a b"',
    unprivileged_port: 'Choose a port above 1023 with --port',
    encrypt:
      'Set a certificate with --tls-cert and --tls-key, or use --behind-proxy if a proxy terminates TLS',
    back_up_postgres: 'Use pg_dump --format=custom --file=chatctl.dump DATABASE, and pg_restore',
    back_up_again: 'Create a new backup with: chatctl service backup --to FILE',
    list_users: 'List the users with: chatctl service users list',
    list_sign_ins: 'List the sign-in sessions with: chatctl service sessions list',
    other_plan_file: 'Choose another file with --save, or delete this one.',
    longer_total_wait: 'Try again in 1 ms (at 2026-01-31T08:00:00Z).',
    adopt_email: 'If you know the id, run: chatctl users adopt "a b=ID" --state "a b"',
    adopt_existing: 'Record the existing user with: chatctl users adopt "a b=a b"',
  }
  const databases = 'createdb --encoding UTF8 --template template0'
  const resume = 'Choose that service with: chatctl chat --resume s1'
  const sessions = { code: 'name_service_of_session', session: 's1' } as const
  const cases: [advice: Advice, hint: string][] = [
    ...Object.entries(hints).map(([code, hint]): [Advice, string] => {
      const data = code in adviceData ? adviceData[code as keyof typeof adviceData] : {}
      return [{ code, ...data } as Advice, hint]
    }),
    [{ code: 'longer_timeout', ms: 300 }, 'Allow more time with: --timeout 1s'],
    [{ code: 'longer_timeout', ms: 60_000 }, 'Allow more time with: --timeout 2m'],
    [
      { code: 'longer_wait', ms: 1_799_500, until: '2026-01-31T08:00:00.250Z' },
      'Try again in 30 min (at 2026-01-31T08:00:00Z), or wait for it with: --max-wait 30m',
    ],
    [{ code: 'sign_in_again', profile: 'work' }, 'Sign in again with: chatctl auth login --profile work'],
    ...(['port', 'admin-port'] as const).map((flag): [Advice, string] => [
      { code: 'other_port', listener: flag === 'port' ? 'service' : 'admin' },
      `Choose another port with --${flag}, or any free port with --${flag} 0`,
    ]),
    [{ code: 'create_database', exists: true }, `Create the database with: ${databases}`],
    [{ code: 'create_database', exists: false }, `Create it with: ${databases}`],
    [{ ...sessions, baseUrl: 'https://chat.example' }, `${resume} --base-url https://chat.example`],
    [{ ...sessions, baseUrl: null }, `${resume} --profile local`],
    [{ code: 'only_owner_writes', path: 'a b', owner: undefined }, 'chmod go-w "a b"'],
  ]
  for (const [advice, hint] of cases)
    it(`names flags and commands: ${hint}`, () => expect(hintOf(failureWith(advice))).to.equal(hint))

  it('quotes every name with a space, so that each command line can be pasted', () => {
    for (const [code, data] of Object.entries(adviceData)) {
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
    expect(hintOf(new Failure('timeout', 'It failed', { hint: 'Look first.', advice }))).to.equal(
      'Look first. Allow more time with: --timeout 1s. List the keys with: chatctl service keys list',
    )
  })

  it('contains only what to check if the outcome is unknown', () => {
    const failure = unknownOutcome(failureWith({ code: 'longer_timeout', ms: 500 }), 'Check it.')
    expect(hintOf(failure)).to.equal('Check it.')
  })
})
