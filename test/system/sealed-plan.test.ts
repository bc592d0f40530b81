import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import {
  makeSealKey,
  readSealKey,
  type SealKey,
  sealPlan,
  unsealPlan,
} from '../../src/system/files/sealed-plan.ts'
import { forAll } from '../support/for-all.ts'
import { thrownFailure } from '../support/thrown-failure.ts'

const kind = 'chatctl-plan'
const key = readSealKey(makeSealKey(), 'seal.key')
const unseal = (text: string, with_: SealKey | undefined = key, as = kind) =>
  unsealPlan({ name: 'a.plan', text }, as, with_)

describe('a sealed plan', () => {
  it('contains the plan, and is another text each time', () =>
    forAll(fc.string({ unit: 'grapheme' }), (plan) => {
      const text = sealPlan(plan, kind, key)
      expect(unseal(text)).to.equal(plan)
      expect(sealPlan(plan, kind, key)).not.to.equal(text)
    }))

  it('is refused if any byte was changed, added, or removed', () => {
    const sealed = Buffer.from(sealPlan('{"app_name":"Chat"}', kind, key))
    for (let at = 0; at < sealed.length; at++) {
      fc.assert(
        fc.property(fc.integer({ min: 0, max: 255 }), fc.constantFrom(0, 1), (byte, removed) => {
          fc.pre(removed === 0 || byte !== sealed[at])
          const altered = Buffer.concat([
            sealed.subarray(0, at),
            Buffer.of(byte),
            sealed.subarray(at + removed),
          ])
          expect(thrownFailure(() => unseal(altered.toString())).kind).to.equal('refused')
        }),
        { numRuns: 4 },
      )
      expect(thrownFailure(() => unseal(sealed.toString('utf8', 0, at))).kind).to.equal('refused')
    }
  })

  it('is refused as another kind of plan', () => {
    const renamed = sealPlan('{}', kind, key).replace(kind, 'chatctl-users-plan')
    const { message } = thrownFailure(() => unseal(renamed, key, 'chatctl-users-plan'))
    expect(message).to.equal('a.plan was changed or truncated after it was sealed')
  })

  it('is refused with another key, which the message says', () => {
    const other = { bytes: randomBytes(32), from: 'CHATCTL_SEAL_KEY' }
    const failure = thrownFailure(() => unseal(sealPlan('{}', kind, key), other))
    expect(failure).to.include({ kind: 'refused', code: 'wrong_seal_key' })
    expect(failure.message).to.equal('a.plan was sealed with another key than that of CHATCTL_SEAL_KEY')
  })
})

describe('a seal key', () => {
  it('is 32 bytes in base64, and no message repeats it', () => {
    expect(readSealKey(`${makeSealKey()}\n`, 'x').bytes).to.have.length(32)
    const all = Buffer.alloc(32, 7)
    for (const text of [
      '',
      'key',
      all.toString('hex'),
      all.toString('base64url'),
      `${all.toString('base64')}A`,
    ]) {
      const { kind: found, message } = thrownFailure(() => readSealKey(text, 'seal.key'))
      expect(found, text).to.equal('refused')
      expect(message).to.equal('seal.key is not a seal key: 32 bytes in base64')
    }
  })
})
