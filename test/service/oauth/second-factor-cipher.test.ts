import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { expect } from 'chai'
import fc from 'fast-check'
import { ApiError } from '../../../src/service/api-error.ts'
import { SecondFactorCipher } from '../../../src/service/oauth/second-factor-cipher.ts'
import { forAll } from '../../support/for-all.ts'
import { withDirectory } from '../temporary-service.ts'

const secret = fc.stringMatching(/^[A-Z2-7]{16,64}$/)

describe('the cipher of second factors', () => {
  it('opens what it sealed for the same user, even in another process', () =>
    withDirectory((directory) => {
      forAll(secret, fc.string({ minLength: 1 }), (text, user) => {
        const sealed = new SecondFactorCipher(directory).encrypt(text, user)
        expect(sealed).not.to.contain(text)
        expect(new SecondFactorCipher(directory).decrypt(sealed, user)).to.equal(text)
      })
      expect(readdirSync(directory)).to.deep.equal(['second-factor.key'])
      if (process.platform !== 'win32')
        expect(statSync(join(directory, 'second-factor.key')).mode & 0o777).to.equal(0o600)
    }))

  it('opens nothing for another user, with another key, or after a change', () =>
    withDirectory((directory) => {
      const cipher = new SecondFactorCipher(directory)
      const sealed = cipher.encrypt('JBSWY3DPEHPK3PXP', 'usr_a')
      expect(() => cipher.decrypt(sealed, 'usr_b')).to.throw(ApiError)
      forAll(fc.nat(sealed.length - 1), (at) => {
        const other = sealed[at] === 'A' ? 'B' : 'A'
        const changed = sealed.slice(0, at) + other + sealed.slice(at + 1)
        // The last character of base64url has bits without meaning.
        if (at < sealed.length - 1) expect(() => cipher.decrypt(changed, 'usr_a')).to.throw(ApiError)
      })
      rmSync(join(directory, 'second-factor.key'))
      const other = new SecondFactorCipher(directory)
      other.encrypt('JBSWY3DPEHPK3PXP', 'usr_b')
      expect(() => other.decrypt(sealed, 'usr_a')).to.throw(ApiError, /Ask an admin to reset it/)
    }))

  it('creates no new key while its key is missing, and opens again when the key is back', () =>
    withDirectory((directory) => {
      const sealed = new SecondFactorCipher(directory).encrypt('JBSWY3DPEHPK3PXP', 'usr_a')
      const file = join(directory, 'second-factor.key')
      renameSync(file, `${file}.kept`)
      const cipher = new SecondFactorCipher(directory)
      expect(() => cipher.decrypt(sealed, 'usr_a')).to.throw(ApiError, /Ask an admin to reset it/)
      expect(readdirSync(directory)).to.deep.equal(['second-factor.key.kept'])
      renameSync(`${file}.kept`, file)
      expect(cipher.decrypt(sealed, 'usr_a')).to.equal('JBSWY3DPEHPK3PXP')
    }))

  it('has one key, also if several processes create it at the same time', () =>
    withDirectory(async (directory) => {
      const directories = Array.from({ length: 20 }, (_, round) => join(directory, String(round)))
      for (const each of directories) mkdirSync(each)
      const count = 2
      const waiting = new Int32Array(new SharedArrayBuffer(4 * directories.length))
      const seal = async (): Promise<string[]> => {
        const workerData = { directories, count, waiting }
        const worker = new Worker(new URL('./sealing-worker.ts', import.meta.url), { workerData })
        const [sealed] = await once(worker, 'message')
        return sealed
      }
      const sealed = await Promise.all(Array.from({ length: count }, seal))
      for (const [round, each] of directories.entries()) {
        for (const text of sealed.map((texts) => texts[round] ?? ''))
          expect(new SecondFactorCipher(each).decrypt(text, 'usr_a')).to.equal('JBSWY3DPEHPK3PXP')
        expect(readdirSync(each)).to.deep.equal(['second-factor.key'])
      }
    }))

  it('accepts a key that openssl rand -base64 32 has created', () =>
    withDirectory((directory) => {
      const key = `${Buffer.alloc(32, 0xff).toString('base64')}\n`
      writeFileSync(join(directory, 'second-factor.key'), key)
      const sealed = new SecondFactorCipher(directory).encrypt('JBSWY3DPEHPK3PXP', 'usr_a')
      expect(new SecondFactorCipher(directory).decrypt(sealed, 'usr_a')).to.equal('JBSWY3DPEHPK3PXP')
      expect(readFileSync(join(directory, 'second-factor.key'), 'utf8')).to.equal(key)
    }))
})
