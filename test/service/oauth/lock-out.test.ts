import { expect } from 'chai'
import fc from 'fast-check'
import { hashPassword } from '../../../src/service/domain/access/passwords.ts'
import {
  countAttempt,
  forgetFailures,
  networkOf,
  takeBackAttempt,
} from '../../../src/service/oauth/lock-out.ts'
import { startService } from '../../../src/service/start-service.ts'
import { openStore } from '../../../src/service/store/open-store.ts'
import { openSqlite } from '../../../src/service/store/sqlite/open-sqlite.ts'
import type { Database } from '../../../src/service/store/tables.ts'
import { equip, onEachEngine, withFolder, withPlace, withService } from '../temporary-service.ts'
import { Browser } from './browser.ts'
import { askForCode, createPerson, signIn } from './flow.ts'

const minute = 60_000

const withDatabase = (use: (db: Database) => Promise<void>): Promise<void> =>
  withFolder(async (folder) => {
    const store = openSqlite(folder)
    await use(store.db)
    await store.close()
  })

onEachEngine('counting attempts', (_, engine) => {
  it('goes on while another process forgets the failures of the same account', () =>
    withPlace(engine, async (place) => {
      const stores = [await openStore(place), await openStore(place)]
      const attempt = { email: 'ada@example.com', address: '192.0.2.1' }
      let now = 0
      for (let round = 0; round < 40; round++) {
        // Days apart, so that none is locked.
        now += 2 * 24 * 60 * minute
        await Promise.all(
          stores.flatMap(({ db }) => [
            countAttempt(db, attempt, now),
            forgetFailures(db, attempt),
            countAttempt(db, attempt, now),
          ]),
        )
      }
      for (const store of stores) await store.close()
    }))
})

describe('locking out', () => {
  it('begins with the fifth failure, for a minute, and doubles up to an hour', () =>
    withDatabase(async (db) => {
      const attempt = { email: 'ada@example.com', address: '192.0.2.1' }
      let now = Date.UTC(2026, 0, 1)
      for (let failure = 1; failure <= 5; failure++) {
        expect(await countAttempt(db, attempt, now)).to.equal(undefined)
      }
      for (const minutes of [1, 2, 4, 8, 16, 32, 60, 60]) {
        expect(await countAttempt(db, attempt, now)).to.equal(minutes * 60)
        expect(await countAttempt(db, attempt, now + minutes * minute - 1)).to.equal(1)
        now += minutes * minute
        expect(await countAttempt(db, attempt, now)).to.equal(undefined)
      }
    }))

  it('forgets after a day, and when the person signs in', () =>
    withDatabase(async (db) => {
      const attempt = { email: 'ada@example.com', address: '192.0.2.1' }
      const now = Date.UTC(2026, 0, 1)
      for (let failure = 1; failure <= 4; failure++) await countAttempt(db, attempt, now)
      for (let failure = 1; failure <= 4; failure++) {
        expect(await countAttempt(db, attempt, now + 25 * 60 * minute)).to.equal(undefined)
      }
      expect(await countAttempt(db, attempt, now + 25 * 60 * minute)).to.equal(undefined)
      await forgetFailures(db, attempt)
      for (let failure = 1; failure <= 5; failure++) {
        expect(await countAttempt(db, attempt, now + 25 * 60 * minute)).to.equal(undefined)
      }
    }))

  it('takes an attempt back that was right so far, and not those before it', () =>
    withDatabase(async (db) => {
      const attempt = { email: 'ada@example.com', address: '192.0.2.1' }
      const now = Date.UTC(2026, 0, 1)
      for (let failure = 1; failure <= 4; failure++) await countAttempt(db, attempt, now)
      await countAttempt(db, attempt, now)
      await takeBackAttempt(db, attempt)
      expect(await countAttempt(db, attempt, now)).to.equal(undefined)
      expect(await countAttempt(db, attempt, now)).to.equal(60)
    }))

  it('holds a network back that tries many accounts, an IPv6 network as a whole', () =>
    withDatabase(async (db) => {
      const now = Date.UTC(2026, 0, 1)
      for (let failure = 0; failure < 50; failure++) {
        const attempt = { email: `user${failure}@example.com`, address: `2001:db8::${failure.toString(16)}` }
        expect(await countAttempt(db, attempt, now)).to.equal(undefined)
      }
      const next = { email: 'another@example.com', address: '2001:db8::ffff' }
      expect(await countAttempt(db, next, now)).to.equal(60)
      expect(await countAttempt(db, { ...next, address: '2001:db8:0:1::1' }, now)).to.equal(undefined)
    }))

  it('keeps nothing of the accounts that a network tries while it is held back', () =>
    withDatabase(async (db) => {
      const attempt = (number: number) => ({ email: `user${number}@example.com`, address: '192.0.2.1' })
      for (let number = 0; number < 60; number++) await countAttempt(db, attempt(number), 0)
      const rows = await db.selectFrom('sign_in_failures').select('subject').execute()
      expect(rows).to.have.length(51)
    }))

  it('never asks for a longer wait than the lock was to last, whatever a clock says', () =>
    withDatabase(async (db) => {
      const attempt = { email: 'ada@example.com', address: '192.0.2.1' }
      for (let number = 0; number < 5; number++) await countAttempt(db, attempt, 10_000 + number)
      expect(await countAttempt(db, attempt, 9_000)).to.equal(60)
    }))

  it('does not count what was too much to be looked at', () =>
    withService(async (service) => {
      await createPerson(service)
      const browser = new Browser()
      const page = await browser.open(askForCode(service.url).url)
      let isFlooded = true
      const flood = Array.from({ length: 66 }, async () => {
        while (isFlooded) await hashPassword('of somebody else')
      })
      const refused: number[] = []
      for (let attempt = 0; attempt < 6; attempt++) refused.push((await signIn(browser, page)).status)
      isFlooded = false
      await Promise.all(flood)
      expect(refused).to.deep.equal([503, 503, 503, 503, 503, 503])
      expect((await signIn(browser, page)).text).to.include('act for you?')
      expect((await browser.open(`${service.url}/account`)).text).to.include('Your account')
    }))

  it('knows the first 64 bits of an address in any notation', () => {
    expect(networkOf('192.0.2.1')).to.equal('192.0.2.1')
    expect(networkOf('::ffff:192.0.2.1')).to.equal('::ffff:192.0.2.1')
    expect(networkOf('::1')).to.equal('0:0:0:0')
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        if (address.includes('.')) return
        expect(networkOf(new URL(`http://[${address}]`).hostname.slice(1, -1)).split(':')).to.have.length(4)
      }),
    )
  })

  it('lets no more than five passwords be tried at once, at two services', () =>
    withFolder(async (folder) => {
      const services = [
        equip(await startService({ dataDir: folder })),
        equip(await startService({ dataDir: folder })),
      ] as const
      await createPerson(services[0])
      const tried = await Promise.all(
        Array.from({ length: 20 }, async (_, index) => {
          const browser = new Browser()
          const { url } = services[index % 2] as (typeof services)[0]
          const page = await browser.open(askForCode(url).url)
          return signIn(browser, page, 'ADA@example.com ', `guess ${index}`)
        }),
      )
      expect(tried.filter(({ status }) => status === 400)).to.have.length(5)
      const held = tried.filter(({ status }) => status === 429)
      expect(held).to.have.length(15)
      expect(Number(held[0]?.headers.get('retry-after'))).to.be.within(1, 60)
      for (const service of services) await service.close()
    }))

  it('says the same of an address that nobody has, and takes as long', () =>
    withService(async (service) => {
      await createPerson(service)
      const say = async (email: string) => {
        const browser = new Browser()
        const page = await browser.open(askForCode(service.url).url)
        const answers = []
        for (let attempt = 0; attempt < 6; attempt++) {
          const began = performance.now()
          const { status, text } = await signIn(browser, page, email, 'wrong horse')
          const alert = /role="alert">([^<]+)/.exec(text)?.[1]
          answers.push({ status, alert, ms: performance.now() - began })
        }
        return answers
      }
      const known = await say('ada@example.com')
      const unknown = await say('eve@example.com')
      const words = (answers: typeof known) => answers.map(({ status, alert }) => ({ status, alert }))
      expect(words(unknown)).to.deep.equal(words(known))
      expect(words(known).map(({ status }) => status)).to.deep.equal([400, 400, 400, 400, 400, 429])
      // A hash takes a multiple of everything else; without it an answer would be there at once.
      // The shortest of them, for a busy machine makes some longer.
      const least = (answers: typeof known) => Math.min(...answers.slice(1, 5).map(({ ms }) => ms))
      expect(least(unknown)).to.be.above(least(known) / 3)
    }))

  it('keeps out who has no password', () =>
    withService(async ({ url }) => {
      const browser = new Browser()
      const page = await browser.open(askForCode(url).url)
      for (const secret of ['', 'null', 'admin']) {
        expect((await signIn(browser, page, 'admin@localhost', secret)).status).to.equal(400)
      }
    }))
})
