import { expect } from 'chai'
import fc from 'fast-check'
import {
  beginAttempt,
  clearFailures,
  codeSubjects,
  networkOf,
  passwordSubjects,
  type SignInAttempt,
  sessionSubjects,
} from '../../../src/service/oauth/attempt-throttle.ts'
import { startService } from '../../../src/service/start-service.ts'
import { openStore } from '../../../src/service/store/open-store.ts'
import type { Database } from '../../../src/service/store/tables.ts'
import { forAll } from '../../support/for-all.ts'
import { closing } from '../../support/lifetime.ts'
import { SteppedClock } from '../../support/stepped-clock.ts'
import { withCountedService } from '../limits/counted-service.ts'
import {
  type Engine,
  equip,
  onEachEngine,
  withDirectory,
  withPlace,
  withService,
} from '../temporary-service.ts'
import { Browser } from './browser.ts'
import { askForCode, createUser, signIn } from './flow.ts'

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const start = Date.UTC(2026, 0, 1)

const ada: SignInAttempt = { email: 'ada@example.com', address: '192.0.2.1', browser: undefined }

type Subjects = Parameters<typeof beginAttempt>[1]

/** Makes a failed attempt, unless there is a wait. @returns the wait in seconds */
async function fail(db: Database, subjects: Subjects, now: number): Promise<number> {
  const attempt = await beginAttempt(db, subjects, now)
  return 'wait' in attempt ? attempt.wait : 0
}

/** Makes a successful attempt, unless there is a wait. @returns the wait in seconds */
async function succeed(db: Database, subjects: Subjects, now: number): Promise<number> {
  const attempt = await beginAttempt(db, subjects, now)
  if ('wait' in attempt) return attempt.wait
  await attempt.succeed()
  return 0
}

const withDatabase = (engine: Engine, use: (db: Database) => Promise<void>): Promise<void> =>
  withPlace(engine, async (place) => {
    await using store = closing(await openStore(place))
    await use(store.db)
  })

onEachEngine('the throttle of failed attempts', (_, engine) => {
  it('delays attempts after the fifth failure, and doubles the delay up to 5 minutes', () =>
    withDatabase(engine, async (db) => {
      const subjects = passwordSubjects(ada)
      let now = start
      for (let failure = 1; failure <= 5; failure++) expect(await fail(db, subjects, now)).to.equal(0)
      for (const wait of [5, 10, 20, 40, 80, 160, 300, 300]) {
        expect(await fail(db, subjects, now)).to.equal(wait)
        now += wait * second
        expect(await fail(db, subjects, now - 1)).to.equal(1)
        expect(await fail(db, subjects, now)).to.equal(0)
      }
    }))

  it('never rejects the correct password because of one wrong guess per hour', () =>
    withDatabase(engine, async (db) => {
      for (let guess = 0; guess < 48; guess++)
        expect(await fail(db, passwordSubjects(ada), start + guess * hour)).to.equal(0)
      expect(await succeed(db, passwordSubjects(ada), start + 47 * hour + 1)).to.equal(0)
    }))

  it('resets the failures of an account when its user signs in', () =>
    withDatabase(engine, async (db) => {
      const subjects = passwordSubjects(ada)
      for (let round = 0; round < 10; round++) {
        for (let failure = 1; failure <= 4; failure++) expect(await fail(db, subjects, start)).to.equal(0)
        expect(await succeed(db, subjects, start)).to.equal(0)
      }
    }))

  it('lets others on a network sign in after 100 failures, with a delay of at most 5 seconds', () =>
    withDatabase(engine, async (db) => {
      for (let failure = 0; failure < 130; failure++)
        await fail(db, passwordSubjects({ ...ada, email: `user${failure}@example.com` }), start)
      const people = Array.from({ length: 20 }, (_, index) => `person${index}@example.com`)
      const signInOf = (email: string, now: number) => succeed(db, passwordSubjects({ ...ada, email }), now)
      expect(await signInOf(people[0] ?? '', start)).to.equal(5)
      // No success delays the next user.
      for (const email of people) expect(await signInOf(email, start + 5 * second)).to.equal(0)
      const rows = await db
        .selectFrom('sign_in_failures')
        .select('failures')
        .where('failures', '>', 5)
        .execute()
      expect(rows).to.deep.equal([{ failures: 100 }])
    }))

  it('delays a network that tries many accounts by at most 30 seconds between two guesses', () =>
    withDatabase(engine, async (db) => {
      let now = start
      let judged = 0
      for (let guess = 0; guess < 200; guess++) {
        const wait = await fail(db, passwordSubjects({ ...ada, email: `user${guess}@example.com` }), now)
        if (wait === 0) judged += 1
        expect(wait).to.be.at.most(30)
        now += 6 * second
      }
      // 20 minutes: 100 at the same time, and then about two a minute.
      expect(judged).to.be.within(110, 140)
    }))

  it('counts an IPv6 network as a whole', () =>
    withDatabase(engine, async (db) => {
      for (let failure = 0; failure < 100; failure++) {
        const address = `2001:db8::${failure.toString(16)}`
        await fail(db, passwordSubjects({ ...ada, email: `user${failure}@example.com`, address }), start)
      }
      const next = { ...ada, email: 'another@example.com', address: '2001:db8::ffff' }
      expect(await fail(db, passwordSubjects(next), start)).to.equal(5)
      expect(await fail(db, passwordSubjects({ ...next, address: '2001:db8:0:1::1' }), start)).to.equal(0)
    }))

  it('delays a user on another network by at most 30 seconds while many networks guess', () =>
    withDatabase(engine, async (db) => {
      const from = (address: string) => passwordSubjects({ ...ada, address })
      for (let failure = 0; failure < 60; failure++) await fail(db, from('198.51.100.7'), start)
      expect(await succeed(db, from('192.0.2.1'), start)).to.equal(0)
      for (let network = 0; network < 300; network++)
        await fail(db, from(`10.0.${network >> 8}.${network & 255}`), start + network * second)
      const wait = await succeed(db, from('192.0.2.1'), start + 300 * second)
      expect(wait).to.be.within(0, 30)
      expect(await succeed(db, from('192.0.2.1'), start + (300 + wait) * second)).to.equal(0)
    }))

  it('counts a browser that the user has used before separately', () =>
    withDatabase(engine, async (db) => {
      for (let failure = 0; failure < 200; failure++) await fail(db, passwordSubjects(ada), start + failure)
      expect(await succeed(db, passwordSubjects(ada), start + 200)).to.be.above(0)
      const known = { ...ada, browser: 'of ada' }
      expect(await succeed(db, passwordSubjects(known), start + 200)).to.equal(0)
      for (let failure = 0; failure < 5; failure++) await fail(db, passwordSubjects(known), start + 200)
      expect(await succeed(db, passwordSubjects(known), start + 200)).to.equal(5)
    }))

  it('counts codes apart from passwords, and a correct password resets no wrong codes', () =>
    withDatabase(engine, async (db) => {
      let now = start
      for (let failure = 0; failure < 5; failure++) {
        expect(await succeed(db, passwordSubjects(ada), now)).to.equal(0)
        expect(await fail(db, codeSubjects(ada), now)).to.equal(0)
      }
      const elsewhere = codeSubjects({ ...ada, address: '198.51.100.7' })
      for (const wait of [5, 10, 20, 40, 80, 160, 320, 640, 900, 900]) {
        expect(await succeed(db, passwordSubjects(ada), now)).to.equal(0)
        expect(await fail(db, elsewhere, now)).to.equal(wait)
        now += wait * second
        expect(await fail(db, elsewhere, now)).to.equal(0)
      }
      expect(await succeed(db, codeSubjects({ ...ada, browser: 'of ada' }), now)).to.equal(0)
    }))

  it('counts guesses on the account page per session, which does not keep the user from signing in', () =>
    withDatabase(engine, async (db) => {
      const session = sessionSubjects(ada.email, 'a session', 'password')
      for (let failure = 0; failure < 5; failure++) expect(await fail(db, session, start)).to.equal(0)
      expect(await fail(db, session, start)).to.equal(5)
      expect(await succeed(db, sessionSubjects(ada.email, 'another', 'password'), start)).to.equal(0)
      expect(await succeed(db, passwordSubjects(ada), start)).to.equal(0)
    }))

  it('does not count an attempt that could not be verified', () =>
    withDatabase(engine, async (db) => {
      const read = () => db.selectFrom('sign_in_failures').selectAll().orderBy('subject').execute()
      for (let failure = 0; failure < 4; failure++) await fail(db, passwordSubjects(ada), start + failure)
      const before = await read()
      for (let round = 0; round < 10; round++) {
        const attempt = await beginAttempt(db, passwordSubjects(ada), start + hour / 2)
        if ('wait' in attempt) throw new Error(`it has to wait ${attempt.wait} s`)
        const error = await attempt.judge(Promise.reject(new Error('too busy'))).catch((reason) => reason)
        expect(error.message).to.equal('too busy')
      }
      expect(await read()).to.deep.equal(before)
    }))

  it('stores nothing about accounts that a network tries while it is delayed', () =>
    withDatabase(engine, async (db) => {
      for (let number = 0; number < 130; number++)
        await fail(db, passwordSubjects({ ...ada, email: `user${number}@example.com` }), start)
      const rows = await db.selectFrom('sign_in_failures').select('subject').execute()
      // Two rows for each account, one of them with the network, and one for the network itself.
      expect(rows).to.have.length(201)
    }))

  it('never delays longer than its rule allows, whatever the clock says', () =>
    withDatabase(engine, async (db) => {
      for (let number = 0; number < 5; number++) await fail(db, passwordSubjects(ada), start + number)
      expect(await fail(db, passwordSubjects(ada), start - hour)).to.equal(5)
    }))

  it('counts the attempts of two processes together, even while one of them resets the account', () =>
    withPlace(engine, async (place) => {
      const stores = [await openStore(place), await openStore(place)] as const
      for (let failure = 0; failure < 5; failure++)
        expect(await fail(stores[failure % 2 ? 0 : 1].db, passwordSubjects(ada), start)).to.equal(0)
      for (const { db } of stores) expect(await fail(db, passwordSubjects(ada), start)).to.equal(5)
      for (let round = 1; round <= 40; round++) {
        // Hours apart, so that no attempt is delayed.
        const now = start + round * 2 * hour
        await Promise.all(
          stores.flatMap(({ db }) => [
            fail(db, passwordSubjects(ada), now),
            db.transaction().execute((transaction) => clearFailures(transaction, ada.email)),
            succeed(db, passwordSubjects(ada), now),
          ]),
        )
      }
      for (const store of stores) await store.close()
    }))
})

describe('failed attempts on the sign-in page', () => {
  it('are delayed by the clock of the service, and reset by a success', () => {
    const clock = new SteppedClock(undefined, start)
    return withCountedService(
      async ({ url, admin }) => {
        await createUser({ call: admin })
        const guess = async (secret?: string) => {
          const browser = new Browser()
          return signIn(browser, await browser.open(askForCode(url).url), undefined, secret)
        }
        for (let failure = 0; failure < 5; failure++)
          expect((await guess('wrong horse')).status).to.equal(400)
        const refused = await guess()
        expect(refused.status).to.equal(429)
        expect(refused.headers.get('retry-after')).to.equal('5')
        expect(refused.text).to.include('Too many failed attempts. Try again in 5 seconds.')
        clock.pass(5 * second)
        expect((await guess()).text).to.include('use your account?')
        for (let failure = 0; failure < 5; failure++)
          expect((await guess('wrong horse')).status).to.equal(400)
      },
      { clock },
    )
  })

  it('do not keep out a browser in which the user has signed in before', () =>
    withService(async (service) => {
      await createUser(service)
      await createUser(service, 'eve@example.com')
      const mine = new Browser()
      await signIn(mine, await mine.open(`${service.url}/sign-in`))
      for (let failure = 0; failure < 6; failure++) {
        const browser = new Browser()
        await signIn(browser, await browser.open(`${service.url}/sign-in`), undefined, 'wrong horse')
      }
      const other = new Browser()
      expect((await signIn(other, await other.open(`${service.url}/sign-in`))).status).to.equal(429)
      expect((await signIn(mine, await mine.open(`${service.url}/sign-in`))).text).to.include('Your account')
      // The cookie is worthless for another account, and after it was altered.
      const cookies = [...mine.cookies.values()].filter(({ name }) => name.includes('-known'))
      expect(cookies).to.have.length(2)
      for (const cookie of cookies) other.cookies.set(cookie.name, { ...cookie, value: `${cookie.value}x` })
      expect((await signIn(other, await other.open(`${service.url}/sign-in`))).status).to.equal(429)
    }))

  it('are counted by the first 64 bits of an IPv6 address, in any notation', () => {
    expect(networkOf('192.0.2.1')).to.equal('192.0.2.1')
    expect(networkOf('::ffff:192.0.2.1')).to.equal('::ffff:192.0.2.1')
    expect(networkOf('::1')).to.equal('0:0:0:0')
    forAll(fc.ipV6(), (address) => {
      if (address.includes('.')) return
      expect(networkOf(new URL(`http://[${address}]`).hostname.slice(1, -1)).split(':')).to.have.length(4)
    })
  })

  it('are limited to five passwords at the same time over two services', () =>
    withDirectory(async (directory) => {
      const services = [
        equip(await startService({ dataDir: directory })),
        equip(await startService({ dataDir: directory })),
      ] as const
      await createUser(services[0])
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

  it('get the same responses for an email without a user', () =>
    withService(async (service) => {
      await createUser(service)
      const say = async (email: string) => {
        const browser = new Browser()
        const page = await browser.open(askForCode(service.url).url)
        const answers = []
        for (let attempt = 0; attempt < 6; attempt++) {
          const { status, text } = await signIn(browser, page, email, 'wrong horse')
          const alert = /role="alert">([^<]+)/.exec(text)?.[1]
          answers.push({ status, alert })
        }
        return answers
      }
      const known = await say('ada@example.com')
      expect(await say('eve@example.com')).to.deep.equal(known)
      expect(known.map(({ status }) => status)).to.deep.equal([400, 400, 400, 400, 400, 429])
    }))

  it('include every password for a user who has none', () =>
    withService(async ({ url }) => {
      const browser = new Browser()
      const page = await browser.open(askForCode(url).url)
      for (const secret of ['', 'null', 'admin'])
        expect((await signIn(browser, page, 'admin@localhost', secret)).status).to.equal(400)
    }))
})
