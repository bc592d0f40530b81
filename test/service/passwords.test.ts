import { expect } from 'chai'

type Passwords = typeof import('../../src/service/domain/access/passwords.ts')

/** The module as a process has it that has just begun: what it remembers is of no other test. */
const begin = (name: string): Promise<Passwords> =>
  import(`../../src/service/domain/access/passwords.ts?${name}`)

/** As many as are let in, and wait. */
const flood = ({ hashPassword }: Passwords) => Array.from({ length: 66 }, () => hashPassword('a password'))

describe('passwords', () => {
  it('that are many at once harm nobody who signs in later, for the first time', async function () {
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
