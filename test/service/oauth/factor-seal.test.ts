import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { FactorSeal } from '../../../src/service/oauth/factor-seal.ts'
import { Refusal } from '../../../src/service/refusal.ts'
import { withFolder } from '../temporary-service.ts'

const secret = fc.stringMatching(/^[A-Z2-7]{16,64}$/)

describe('the seal of second factors', () => {
  it('opens what it sealed for the same user, even in another process', () =>
    withFolder((folder) => {
      fc.assert(
        fc.property(secret, fc.string({ minLength: 1 }), (text, user) => {
          const sealed = new FactorSeal(folder).seal(text, user)
          expect(sealed).not.to.contain(text)
          expect(new FactorSeal(folder).open(sealed, user)).to.equal(text)
        }),
      )
      expect(readdirSync(folder)).to.deep.equal(['second-factor.key'])
      if (process.platform !== 'win32')
        expect(statSync(join(folder, 'second-factor.key')).mode & 0o777).to.equal(0o600)
    }))

  it('opens nothing for another user, with another key, or after a change', () =>
    withFolder((folder) => {
      const seal = new FactorSeal(folder)
      const sealed = seal.seal('JBSWY3DPEHPK3PXP', 'usr_a')
      expect(() => seal.open(sealed, 'usr_b')).to.throw(Refusal)
      fc.assert(
        fc.property(fc.nat(sealed.length - 1), (at) => {
          const other = sealed[at] === 'A' ? 'B' : 'A'
          const changed = sealed.slice(0, at) + other + sealed.slice(at + 1)
          // The last character of base64url has bits without meaning.
          if (at < sealed.length - 1) expect(() => seal.open(changed, 'usr_a')).to.throw(Refusal)
        }),
      )
      rmSync(join(folder, 'second-factor.key'))
      const other = new FactorSeal(folder)
      other.seal('JBSWY3DPEHPK3PXP', 'usr_b')
      expect(() => other.open(sealed, 'usr_a')).to.throw(Refusal, /Ask an administrator to reset it/)
    }))

  it('creates no new key while its key is missing, and opens again when the key is back', () =>
    withFolder((folder) => {
      const sealed = new FactorSeal(folder).seal('JBSWY3DPEHPK3PXP', 'usr_a')
      const file = join(folder, 'second-factor.key')
      renameSync(file, `${file}.kept`)
      const seal = new FactorSeal(folder)
      expect(() => seal.open(sealed, 'usr_a')).to.throw(Refusal, /Ask an administrator to reset it/)
      expect(readdirSync(folder)).to.deep.equal(['second-factor.key.kept'])
      renameSync(`${file}.kept`, file)
      expect(seal.open(sealed, 'usr_a')).to.equal('JBSWY3DPEHPK3PXP')
    }))

  it('accepts a key that openssl rand -base64 32 has created', () =>
    withFolder((folder) => {
      const key = `${Buffer.alloc(32, 0xff).toString('base64')}\n`
      writeFileSync(join(folder, 'second-factor.key'), key)
      const sealed = new FactorSeal(folder).seal('JBSWY3DPEHPK3PXP', 'usr_a')
      expect(new FactorSeal(folder).open(sealed, 'usr_a')).to.equal('JBSWY3DPEHPK3PXP')
      expect(readFileSync(join(folder, 'second-factor.key'), 'utf8')).to.equal(key)
    }))

  it('reads the plain secrets of an earlier version', () =>
    withFolder((folder) => {
      expect(new FactorSeal(folder).open('JBSWY3DPEHPK3PXP', 'usr_a')).to.equal('JBSWY3DPEHPK3PXP')
    }))
})
