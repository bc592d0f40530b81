import { expect } from 'chai'
import { hintOf } from '../../src/cli/hints.ts'
import type { Advice } from '../../src/contract/advice.ts'
import { Failure, unknownOutcome } from '../../src/contract/failure.ts'

const failureWith = (...advice: Advice[]) => new Failure('refused', 'It failed', { advice })

describe('the hint of a failure', () => {
  const cases: [advice: Advice, hint: string][] = [
    [{ code: 'longer_timeout', ms: 300 }, 'Allow more time with: --timeout 1s'],
    [{ code: 'longer_timeout', ms: 60_000 }, 'Allow more time with: --timeout 2m'],
    [
      { code: 'longer_wait', ms: 1_799_500, until: '2026-01-31T08:00:00.250Z' },
      'Try again in 30 min (at 2026-01-31T08:00:00Z), or wait for it with: --max-wait 1800s',
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

  it('keeps the path of the base URL when it names the other scheme', () => {
    const failure = failureWith({ code: 'other_scheme', url: 'https://chat.example' })
    for (const [baseUrl, corrected] of [
      ['http://chat.example/team/', 'https://chat.example/team/'],
      ['http://chat.example', 'https://chat.example'],
      ['http://other.example/team', 'https://chat.example'],
    ] as const) {
      const connection = { baseUrl, baseUrlFrom: 'flag', profile: undefined } as const
      expect(hintOf(failure, connection)).to.equal(`Use this address: --base-url ${corrected}`)
    }
  })

  it('is undefined without advice', () => {
    expect(hintOf(new Failure('refused', 'It failed'))).to.equal(undefined)
  })

  it('starts with the hint of the failure, followed by each piece of advice', () => {
    const advice: Advice[] = [{ code: 'longer_timeout', ms: 500 }, { code: 'list_keys' }]
    const failure = new Failure('timeout', 'It failed', { hint: 'Look first.', advice })
    expect(hintOf(failure)).to.equal(
      'Look first. Allow more time with: --timeout 1s. List the keys with: chatctl service keys list',
    )
  })

  it('is kept when the failure is restated', () => {
    const failure = failureWith({ code: 'list_keys' })
    expect(hintOf(failure.reworded('It failed here'))).to.equal(
      'List the keys with: chatctl service keys list',
    )
    expect(hintOf(failure.reworded('It failed here', { hint: 'Try again.' }))).to.equal('Try again.')
  })

  it('contains only what to check if the outcome is unknown', () => {
    const failure = unknownOutcome(failureWith({ code: 'longer_timeout', ms: 500 }), 'Check it.')
    expect(hintOf(failure)).to.equal('Check it.')
  })
})
