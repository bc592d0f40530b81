import { expect } from 'chai'
import fc from 'fast-check'
import {
  deleteLongValue,
  getLongValue,
  type KeychainItems,
  setLongValue,
} from '../../../src/auth/credentials/keychain-items.ts'
import { codePoint } from '../../support/code-point.ts'
import { forAllAsync } from '../../support/for-all.ts'

/** A keychain with a maximum length per item, as on Windows, which may fail after some writes. */
class SmallKeychain implements KeychainItems {
  readonly items = new Map<string, string>()
  readonly #limit: number
  writesLeft = Number.POSITIVE_INFINITY

  constructor(limit: number) {
    this.#limit = limit
  }

  async get(account: string): Promise<string | null> {
    return this.items.get(account) ?? null
  }

  async set(account: string, value: string): Promise<void> {
    if (value.length > this.#limit) throw new Error('too long')
    if (this.writesLeft-- <= 0) throw new Error('gone')
    this.items.set(account, value)
  }

  async delete(account: string): Promise<boolean> {
    if (this.writesLeft-- <= 0) throw new Error('gone')
    return this.items.delete(account)
  }
}

const limit = 60
const values = fc.oneof(
  fc.string({ maxLength: 400 }),
  fc.string({ unit: codePoint, maxLength: 400 }),
  fc.string({ minLength: limit - 1, maxLength: limit + 1 }),
)

describe('a keychain value that is longer than an item', () => {
  it('is read as it was written, whatever it replaces, and leaves no other items', () =>
    forAllAsync(fc.array(values, { minLength: 1, maxLength: 4 }), async (versions) => {
      const keychain = new SmallKeychain(limit)
      for (const value of versions) {
        await setLongValue(keychain, 'work', value, limit)
        expect(await getLongValue(keychain, 'work')).to.equal(value)
      }
      const last = versions.at(-1) ?? ''
      expect(keychain.items.size).to.equal(last.length > limit ? Math.ceil(last.length / limit) + 1 : 1)
      expect(await deleteLongValue(keychain, 'work')).to.equal(true)
      expect(keychain.items.size).to.equal(0)
      expect(await deleteLongValue(keychain, 'work')).to.equal(false)
    }))

  it('is the old or the new one, never a mixture, at any point where writing is interrupted', () =>
    forAllAsync(values, values, fc.nat({ max: 20 }), async (before, after, writes) => {
      const keychain = new SmallKeychain(limit)
      await setLongValue(keychain, 'work', before, limit)
      keychain.writesLeft = writes
      const done = await setLongValue(keychain, 'work', after, limit).then(
        () => true,
        () => false,
      )
      const found = await getLongValue(keychain, 'work')
      if (done) expect(found).to.equal(after)
      else expect(found).to.be.oneOf([before, after])
    }))

  it('is reported as incomplete if one of its parts is missing', async () => {
    const keychain = new SmallKeychain(limit)
    await setLongValue(keychain, 'work', 'x'.repeat(200), limit)
    keychain.items.delete([...keychain.items.keys()].find((account) => account.endsWith('#2')) ?? '')
    const failure = await getLongValue(keychain, 'work').catch((error: Error) => error.message)
    expect(failure).to.equal('a part of the credential is missing')
  })

  it('is the new one for a reader who finds that the parts of the old one are deleted', async () => {
    for (const next of ['y'.repeat(200), 'short']) {
      const keychain = new SmallKeychain(limit)
      await setLongValue(keychain, 'work', 'x'.repeat(200), limit)
      const get = keychain.get.bind(keychain)
      let replaced = false
      keychain.get = async (account) => {
        // Between the reads of the head and of the first part.
        if (account !== 'work' && !replaced) {
          replaced = true
          const writer = Object.assign(new SmallKeychain(limit), { items: keychain.items })
          await setLongValue(writer, 'work', next, limit)
        }
        return get(account)
      }
      expect(await getLongValue(keychain, 'work')).to.equal(next)
      expect(replaced).to.equal(true)
    }
  })

  it('is undefined for a reader who finds that it is being deleted', async () => {
    const keychain = new SmallKeychain(limit)
    await setLongValue(keychain, 'work', 'x'.repeat(200), limit)
    const get = keychain.get.bind(keychain)
    keychain.get = async (account) => {
      if (account !== 'work') keychain.items.clear()
      return get(account)
    }
    expect(await getLongValue(keychain, 'work')).to.equal(null)
  })

  it('can be replaced and deleted if it cannot be read', async () => {
    const keychain = new SmallKeychain(limit)
    await setLongValue(keychain, 'work', 'odd', limit)
    keychain.get = async () => {
      throw new Error('not UTF-8')
    }
    await setLongValue(keychain, 'work', 'new', limit)
    expect(keychain.items.get('work')).to.equal('new')
    expect(await deleteLongValue(keychain, 'work')).to.equal(true)
  })
})
