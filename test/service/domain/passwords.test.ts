import { expect } from 'chai'

type Passwords = typeof import('../../../src/service/domain/access/passwords.ts')

/** A new copy of the module, so that no other test has changed its state. */
const begin = (name: string): Promise<Passwords> =>
  import(`../../../src/service/domain/access/passwords.ts?${name}`)

/** As many passwords as may run and wait at once. */
const flood = ({ hashPassword }: Passwords) => Array.from({ length: 66 }, () => hashPassword('a password'))

describe('verifying passwords', () => {
  it('works for later sign-ins after too many passwords at once were refused', async function () {
    this.timeout(60_000)
    const passwords = await begin('flooded')
    const stored = await passwords.hashPassword('correct')
    const unhandled: unknown[] = []
    const note = (reason: unknown) => unhandled.push(reason)
    const others = process.listeners('unhandledRejection')
    process.removeAllListeners('unhandledRejection').on('unhandledRejection', note)
    try {
      const running = flood(passwords)
      for (const known of [stored, null]) {
        const refused = await passwords.verifyPassword(known, 'correct').catch((error) => error.code)
        expect(refused).to.equal('too_busy')
      }
      await Promise.all(running)
      await new Promise(setImmediate)
      expect(unhandled).to.deep.equal([])
    } finally {
      process.removeListener('unhandledRejection', note)
      for (const each of others) process.on('unhandledRejection', each)
    }
    expect(await passwords.verifyPassword(null, 'correct')).to.equal(false)
    expect(await passwords.verifyPassword(stored, 'correct')).to.equal(true)
    expect(await passwords.verifyPassword(stored, 'wrong')).to.equal(false)
  })
})
