import { expect } from 'chai'
import { ServiceHealth } from '../../../src/bulk/send/send-change.ts'
import { Failure, type FailureKind, type FailureOptions } from '../../../src/contract/failure.ts'
import { thrownFailure } from '../../support/thrown-failure.ts'

function failure(kind: FailureKind, options: FailureOptions = {}): Failure {
  return new Failure(kind, 'failed', options)
}

function fail(health: ServiceHealth, times: number, kind: FailureKind, options: FailureOptions = {}): void {
  for (let index = 0; index < times; index++) health.failed(failure(kind, options))
}

describe('an import with failing requests', () => {
  for (const kind of ['unauthorized', 'unreachable', 'timeout', 'tls', 'rate_limited', 'storage'] as const) {
    it(`stops at the first ${kind}`, () => {
      const first = failure(kind)
      expect(thrownFailure(() => new ServiceHealth().failed(first))).to.equal(first)
    })
  }

  for (const [kind, options] of [
    ['unreachable', { isOutcomeUnknown: true }],
    ['timeout', { isOutcomeUnknown: true }],
    ['server_error', { status: 500 }],
    ['server_error', { status: 502, isOutcomeUnknown: true }],
    ['truncated', { isOutcomeUnknown: true }],
  ] as const) {
    it(`stops at the 10th ${kind}${'isOutcomeUnknown' in options ? ' with an unknown outcome' : ''} in a row`, () => {
      const health = new ServiceHealth()
      fail(health, 9, kind, options)
      health.succeeded()
      fail(health, 9, kind, options)
      fail(health, 1, 'rejected')
      fail(health, 9, kind, options)
      expect(thrownFailure(() => fail(health, 1, kind, options))).to.have.property('kind', kind)
    })
  }

  it('stops at the 20th 403 in a row if no request has succeeded', () => {
    const health = new ServiceHealth()
    fail(health, 19, 'forbidden')
    expect(thrownFailure(() => fail(health, 1, 'forbidden'))).to.have.property('kind', 'forbidden')
  })

  it('continues after 403 if a request has succeeded', () => {
    const health = new ServiceHealth()
    health.succeeded()
    fail(health, 100, 'forbidden')
  })

  it('continues after any fault of a row', () => {
    const health = new ServiceHealth()
    for (const kind of ['rejected', 'conflict', 'not_found', 'refused', 'invalid_response'] as const) {
      fail(health, 100, kind)
    }
  })
})
