import { expect } from 'chai'
import { loadArgon2, nodeArgon2 } from '../../../src/service/domain/access/passwords.ts'

const cost = { memoryCost: 64, timeCost: 2, parallelism: 1 }
const passwords = ['a password', '', '日本語 🔑', 'x'.repeat(1024), 'nul\0inside']

describe('argon2id hashes', () => {
  it('of the native package are verified by Node, and the reverse', async () => {
    const native = await loadArgon2()
    expect(native).not.to.equal(nodeArgon2)
    for (const [writer, reader] of [
      [native, nodeArgon2],
      [nodeArgon2, native],
      [nodeArgon2, nodeArgon2],
    ] as const)
      for (const password of passwords) {
        const hash = await writer.hash(password, cost)
        expect(await reader.verify(hash, password), hash).to.equal(true)
        expect(await reader.verify(hash, `${password}!`), hash).to.equal(false)
      }
  })

  it('differ for the same password', async () =>
    expect(await nodeArgon2.hash('same', cost)).not.to.equal(await nodeArgon2.hash('same', cost)))

  it('are refused by Node in any other format', async () => {
    const hash = await nodeArgon2.hash('a password', cost)
    const others = [
      '',
      'plain',
      hash.replace('argon2id', 'argon2i'),
      hash.replace('v=19', 'v=16'),
      `${hash}=`,
    ]
    for (const other of others) {
      const refused = await nodeArgon2.verify(other, 'a password').catch((error: Error) => error.message)
      expect(refused, other).to.equal('not an argon2id hash')
    }
  })
})
