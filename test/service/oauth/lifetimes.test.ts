import { expect } from 'chai'
import { openAdministration } from '../../../src/service/administration/administration.ts'
import { openStore } from '../../../src/service/store/open-store.ts'
import { SteppedClock } from '../../support/stepped-clock.ts'
import { caller, onEachEngine, type TemporaryService } from '../temporary-service.ts'
import { Browser } from './browser.ts'
import { askForCode, createUser, exchange, getCode, getTokens, password, refresh, signIn } from './flow.ts'

const [second, minute, hour, day] = [1_000, 60_000, 3_600_000, 86_400_000]

/** Lifetimes in oidc-provider are exact to a second. */
const tolerance = 2 * second

/** Status of a request with a token. */
const status = async (url: string, token: string): Promise<number> =>
  (await caller(url, token)('GET', '/v1/chat/models')).status

onEachEngine('the lifetime of a sign-in', (withService) => {
  /** Runs a service with one user and a stepped clock. */
  const onClock = (use: (service: TemporaryService, clock: SteppedClock) => Promise<void>) => {
    const clock = new SteppedClock()
    return withService(
      async (service) => {
        await createUser(service)
        await use(service, clock)
      },
      { clock },
    )
  }

  it('is one hour for an access token, and 30 days for an unused refresh token', () =>
    onClock(async ({ url }, clock) => {
      const first = await getTokens(url)
      expect(first.expires_in).to.be.within(3_599, 3_600)
      clock.pass(hour - 5 * second)
      expect(await status(url, first.access_token)).to.equal(200)
      clock.pass(5 * second + tolerance)
      expect(await status(url, first.access_token)).to.equal(401)
      const { body: next } = await refresh(url, first.refresh_token)
      expect(await status(url, next.access_token)).to.equal(200)
      clock.pass(30 * day + tolerance)
      expect((await refresh(url, next.refresh_token)).body.error).to.equal('invalid_grant')
    }))

  it('is 180 days for a program, however often it renews its tokens', () =>
    onClock(async ({ url }, clock) => {
      let { refresh_token: token } = await getTokens(url)
      for (let month = 0; month < 7; month++) {
        clock.pass(25 * day)
        const { status: end, body } = await refresh(url, token)
        expect(end).to.equal(200)
        token = body.refresh_token
      }
      clock.pass(5 * day + tolerance)
      expect((await refresh(url, token)).body.error).to.equal('invalid_grant')
    }))

  it('is one minute for an authorization code', () =>
    onClock(async ({ url }, clock) => {
      const codeAfter = async (ms: number) => {
        const request = askForCode(url)
        const code = (await getCode(new Browser(), request)).get('code') ?? ''
        clock.pass(ms)
        return (await exchange(url, code, request.verifier)).status
      }
      expect(await codeAfter(minute - 5 * second)).to.equal(200)
      expect(await codeAfter(minute + tolerance)).to.equal(400)
    }))

  it('is one hour for the sign-in pages, and five minutes between the password and the code', () =>
    onClock(async ({ url, place }, clock) => {
      const late = new Browser()
      const page = await late.open(askForCode(url).url)
      clock.pass(hour + tolerance)
      expect((await signIn(late, page)).text).to.include('This sign-in has ended')

      const { db, close } = await openStore(place)
      const { id } = await db
        .selectFrom('users')
        .select('id')
        .where('email', '=', 'ada@example.com')
        .executeTakeFirstOrThrow()
      const factor = { user_id: id, secret: 'JBSWY3DPEHPK3PXP', confirmed_at: '2026-01-01', last_step: null }
      await db.insertInto('second_factors').values(factor).execute()
      await close()
      const browser = new Browser()
      const asked = await signIn(browser, await browser.open(askForCode(url).url))
      clock.pass(5 * minute)
      expect((await browser.open(asked.url)).text).to.include('Enter your code')
      clock.pass(1)
      expect((await browser.open(asked.url)).text).to.include('name="password"')
    }))

  it('is 12 hours for an idle browser, and seven days for an active one', () =>
    onClock(async ({ url }, clock) => {
      const browser = new Browser()
      const shown = async () => (await browser.open(`${url}/account`)).text
      const enter = async () => signIn(browser, await browser.open(`${url}/sign-in`))
      await enter()
      clock.pass(12 * hour - 5 * second)
      expect(await shown()).to.include('Your account')
      clock.pass(12 * hour + tolerance)
      expect(await shown()).to.include('name="email"')

      await enter()
      for (let half = 0; half < 14; half++) {
        clock.pass(12 * hour - 5 * second)
        expect(await shown()).to.include('Your account')
      }
      clock.pass(14 * 5 * second + tolerance)
      expect((await browser.open(askForCode(url).url)).text).to.include('name="email"')
      expect(await shown()).to.include('name="email"')
    }))

  it('follows the clock of the service, and expired records are removed from the database', () =>
    onClock(async ({ url, place }, clock) => {
      await getTokens(url)
      const administration = await openAdministration(place, clock)
      const sessions = await administration.listSessions()
      expect(sessions).to.have.length(2)
      for (const { created_at, last_used_at } of sessions) {
        expect(last_used_at).to.equal('2026-03-01T12:00:00.000Z')
        // The times of oidc-provider are accurate to within a second.
        expect(Date.parse(created_at)).to.be.closeTo(clock.now(), 2 * second)
      }
      clock.pass(181 * day)
      expect(await administration.listSessions()).to.deep.equal([])
      await administration.close()
      const { db, close } = await openStore(place)
      const count = async () =>
        (await db.selectFrom('oauth_records').select('id_hash').where('model', '=', 'Grant').execute()).length
      expect(await count()).to.equal(1)
      const browser = new Browser()
      await browser.submit(await browser.open(`${url}/sign-in`), { email: 'ada@example.com', password })
      while ((await count()) > 0) await new Promise(setImmediate)
      await close()
    }))
})
