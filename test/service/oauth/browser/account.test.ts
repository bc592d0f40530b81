import { expect } from 'chai'
import { Secret, TOTP } from 'otpauth'
import { openAdministration } from '../../../../src/service/administration/administration.ts'
import { startService } from '../../../../src/service/start-service.ts'
import { openStore } from '../../../../src/service/store/open-store.ts'
import { closing } from '../../../support/lifetime.ts'
import { SteppedClock } from '../../../support/stepped-clock.ts'
import { until } from '../../../support/until.ts'
import {
  caller,
  equip,
  onEachEngine,
  type TemporaryService,
  type WithService,
  withPlace,
} from '../../temporary-service.ts'
import { Browser, type Shown } from '../browser.ts'
import { askForCode, createUser, getTokens, password, refresh, signIn } from '../flow.ts'

/** Signs in on the account page itself. */
async function openAccount(url: string, browser = new Browser(), secret = password): Promise<Shown> {
  const page = await browser.open(`${url}/account`)
  return page.text.includes('name="email"') ? signIn(browser, page, undefined, secret) : page
}

const status = async (url: string, token: string): Promise<number> =>
  (await caller(url, token)('GET', '/api/user/profile')).status

const by = (id: string) => ({ actor: id, target: id })

/** The ids of the sessions that the page can end. */
const idsOn = (page: Shown): string[] =>
  [...page.text.matchAll(/name="id" value="(ses_\w+)"/g)].map(([, id = '']) => id)

onEachEngine('the account page', (withService, _engine) => {
  it('lists the browsers and programs in which the user is signed in, with their details', () =>
    withService(async ({ url, call }) => {
      await createUser({ call })
      const browser = new Browser({ 'user-agent': 'Firefox/1 <b>' })
      await getTokens(url, { browser, scope: 'chat:read users:read' })
      const page = await openAccount(url, browser)
      expect(page.text).to.include('You are signed in as <b>ada@example.com</b>')
      expect(page.text).to.include('This browser').and.to.include('Firefox/1 &lt;b&gt;')
      expect(page.text).to.include('chat:read users:read').and.to.include('from 127.0.0.1')
      expect(idsOn(page)).to.have.length(2)
    }))

  it('ends one session, or all other sessions', () =>
    withService(async ({ url, call }) => {
      await createUser({ call })
      const [here, there] = [new Browser(), new Browser()]
      const first = await getTokens(url, { browser: here })
      const second = await getTokens(url, { browser: here })
      const elsewhere = await getTokens(url, { browser: there })
      const page = await openAccount(url, here)
      const program =
        /name="id" value="(ses_\w+)">\s*<button name="do" value="end">/.exec(page.text)?.[1] ?? ''
      const ended = await here.submit(page, { do: 'end', id: program })
      expect(ended.text).to.include('The sign-in session was ended.')
      expect(
        await Promise.all([first, second].map(({ access_token: token }) => status(url, token))),
      ).to.have.members([200, 401])
      await here.submit(ended, { do: 'end-others' })
      for (const { access_token: token } of [first, second, elsewhere])
        expect(await status(url, token)).to.equal(401)
      expect((await there.open(`${url}/account`)).text).to.include('name="email"')
      expect((await here.open(`${url}/account`)).text).to.include('Your account')
    }))

  it('does not end a session of another user', () =>
    withService(async ({ url, call }) => {
      await createUser({ call })
      await createUser({ call }, 'eve@example.com')
      const eve = new Browser()
      const { access_token: token } = await getTokens(url, { browser: eve, email: 'eve@example.com' })
      const [eves = ''] = idsOn(await eve.open(`${url}/account`))
      const browser = new Browser()
      const answer = await browser.submit(await openAccount(url, browser), { do: 'end', id: eves })
      expect(answer.text).to.include('The sign-in session has already ended.')
      expect(await status(url, token)).to.equal(200)
    }))

  it('changes the password, which ends the other sessions and the old password', () =>
    withService(async ({ url, call }) => {
      await createUser({ call })
      const browser = new Browser()
      const { access_token: token } = await getTokens(url)
      const page = await openAccount(url, browser)
      const change = (fields: Record<string, string>) => browser.submit(page, { do: 'password', ...fields })
      expect((await change({ password: 'wrong horse', new: 'another password' })).status).to.equal(400)
      expect((await change({ password, new: 'short' })).status).to.equal(400)
      expect((await change({ password, new: 'another password' })).text).to.include(
        'The password was changed',
      )
      expect(await status(url, token)).to.equal(401)
      expect((await openAccount(url, new Browser())).status).to.equal(400)
      expect((await openAccount(url, new Browser(), 'another password')).text).to.include('Your account')
    }))

  it('issues a new cookie with a new password, so that a stolen cookie is worthless', () =>
    withService(async ({ url, call }) => {
      await createUser({ call })
      const [browser, thief] = [new Browser(), new Browser()]
      const page = await openAccount(url, browser)
      for (const [key, cookie] of browser.cookies) thief.cookies.set(key, cookie)
      const done = await browser.submit(page, { do: 'password', password, new: 'another password' })
      expect(done.text).to.include('The password was changed')
      expect((await thief.open(`${url}/account`)).text).to.include('name="email"')
      const still = await browser.submit(done, { do: 'end-others' })
      expect(still.text).to.include('All other sign-in sessions were ended.')
    }))

  it('adds audit entries for a new password and a second factor, without the secrets', () =>
    withService(async (service) => {
      const { url } = service
      const id = await createUser(service)
      const browser = new Browser()
      const send = async (fields: Record<string, string>) =>
        browser.submit(await openAccount(url, browser), fields)
      await send({ do: 'password', password: 'wrong horse', new: 'another password' })
      await send({ do: 'password', password, new: 'another password' })
      const begun = await send({ do: 'factor-begin', password: 'another password' })
      const secret = /Secret: <code>([A-Z2-7 ]+)</.exec(begun.text)?.[1] ?? ''
      await send({ do: 'factor-confirm', code: '000000' })
      const code = new TOTP({ secret: Secret.fromBase32(secret.replaceAll(' ', '')) }).generate()
      await send({ do: 'factor-confirm', code })
      await send({ do: 'factor-confirm', code })
      await send({ do: 'factor-off', password: 'another password' })
      await send({ do: 'factor-off', password: 'another password' })
      const administration = await openAdministration(service.place)
      const entries = (await administration.listChanges({ action: 'user', limit: 10 })).slice(1)
      await administration.close()
      const on = { second_factor: true }
      const off = { second_factor: false }
      expect(
        entries.map(({ actor, target, action, before, after }) => ({ actor, target, action, before, after })),
      ).to.deep.equal([
        { ...by(id), action: 'user.password', before: null, after: { password_changed: true } },
        { ...by(id), action: 'user.second_factor', before: off, after: on },
        { ...by(id), action: 'user.second_factor', before: on, after: off },
      ])
      for (const entry of entries) {
        expect(entry.request_id).to.match(/^req_/)
        expect(entry.key_id).to.equal(null)
      }
    }))

  it('signs the browser out, and leaves the programs signed in', () =>
    withService(async ({ url, call }) => {
      await createUser({ call })
      const browser = new Browser()
      const { access_token: token } = await getTokens(url, { browser })
      const cookies = [...browser.cookies]
      const out = await browser.submit(await openAccount(url, browser), { do: 'sign-out' })
      expect(out.text).to.include('Signed out')
      for (const [key, cookie] of cookies) browser.cookies.set(key, cookie)
      expect((await browser.open(`${url}/account`)).text).to.include('name="email"')
      expect(await status(url, token)).to.equal(200)
    }))

  it('issues a new cookie with each sign-in, and ends the session of the previous user', () =>
    withService(async ({ url, call }) => {
      await createUser({ call })
      await createUser({ call }, 'eve@example.com')
      const browser = new Browser()
      await openAccount(url, browser)
      const sessionOf = ({ cookies }: Browser) =>
        [...cookies.values()].find(({ name }) => /^chatctl-\d+$/.test(name))?.value
      const first = sessionOf(browser)
      await signIn(browser, await browser.open(`${url}/sign-in`))
      const before = sessionOf(browser)
      expect(before).to.be.a('string').and.not.equal(first)
      const old = new Browser()
      for (const [key, cookie] of browser.cookies) old.cookies.set(key, cookie)
      const page = await browser.open(askForCode(url, { prompt: 'login' }).url)
      const consent = await signIn(browser, page, 'eve@example.com')
      expect(consent.text, consent.text.slice(-400)).to.include('You are signed in as <b>eve@example.com</b>')
      expect(sessionOf(browser)).not.to.equal(before)
      expect((await old.open(`${url}/account`)).text).to.include('name="email"')
    }))
})

onEachEngine('the second factor', (withService, engine) => {
  let clock: SteppedClock
  beforeEach(() => {
    clock = new SteppedClock()
  })
  const onClock: WithService = (use) => withService(use, { clock })

  /** Turns the second factor on. @returns the generator of its codes */
  async function turnOn(url: string, browser: Browser): Promise<TOTP> {
    const begun = await browser.submit(await openAccount(url, browser), { do: 'factor-begin', password })
    const secret = /Secret: <code>([A-Z2-7 ]+)</.exec(begun.text)?.[1] ?? ''
    expect(begun.text).to.include('<svg')
    const totp = new TOTP({ secret: Secret.fromBase32(secret.replaceAll(' ', '')) })
    expect((await browser.submit(begun, { do: 'factor-confirm', code: '000000' })).status).to.equal(400)
    const code = totp.generate({ timestamp: clock.now() - 30_000 })
    const on = await browser.submit(begun, { do: 'factor-confirm', code })
    expect(on.text).to.match(/The second factor is now on\..*recovery code.* (\d{5} ?){4}/)
    return totp
  }

  it('is requested once it is on; a code works once at all services, and a password is not enough', () =>
    withPlace(engine, async (place) => {
      await using one = closing(equip(await startService({ ...place, clock })))
      await using other = closing(equip(await startService({ ...place, clock })))
      await createUser(one)
      const code = (await turnOn(one.url, new Browser())).generate({ timestamp: clock.now() })
      const ends = await Promise.all(
        [one, other, one, other].map(async ({ url }) => {
          const browser = new Browser()
          const asked = await openAccount(url, browser)
          expect(asked.text).to.include('Enter your code')
          expect((await browser.open(`${url}/account`)).text).to.include('name="email"')
          return browser.submit(asked, { code, decision: 'allow' })
        }),
      )
      expect(ends.filter(({ text }) => text.includes('Your account'))).to.have.length(1)
      expect(ends.filter(({ status }) => status === 400 || status === 429)).to.have.length(3)
    }))

  it('cannot be guessed: wrong codes delay the next one, and a correct password resets nothing', () =>
    onClock(async ({ url, call }) => {
      await createUser({ call })
      await turnOn(url, new Browser())
      const ends: number[] = []
      for (let attempt = 0; attempt < 6; attempt++) {
        const browser = new Browser()
        const asked = await openAccount(url, browser)
        if (!asked.text.includes('Enter your code')) ends.push(asked.status)
        else ends.push((await browser.submit(asked, { code: '123456', decision: 'allow' })).status)
      }
      expect(ends).to.deep.equal([400, 400, 400, 400, 400, 429])
    }))

  it('is sealed in the database', () =>
    onClock(async ({ url, call, place }) => {
      await createUser({ call })
      const totp = await turnOn(url, new Browser())
      const { db, close } = await openStore(place)
      const { secret } = await db.selectFrom('second_factors').select('secret').executeTakeFirstOrThrow()
      expect(secret).not.to.contain(totp.secret.base32)
      await close()
    }))

  it('is also requested before tokens are issued', () =>
    onClock(async ({ url, call }) => {
      await createUser({ call })
      const totp = await turnOn(url, new Browser())
      const browser = new Browser()
      const asked = await signIn(browser, await browser.open(askForCode(url).url))
      expect(asked.text).to.include('Enter your code')
      // Opening the next page directly does not skip the second factor.
      const resume = new URL(asked.url).pathname.replace('/sign-in/', '/oauth/authorize/')
      expect((await browser.open(url + resume)).text).not.to.include('use your account?')
      const again = await signIn(browser, await browser.open(askForCode(url).url))
      const consent = await browser.submit(again, {
        code: totp.generate({ timestamp: clock.now() }),
        decision: 'allow',
      })
      expect(consent.text).to.include('use your account?')
    }))

  it('cannot be turned on without the password, and does not reset the count of wrong passwords', () =>
    onClock(async ({ url, call }) => {
      await createUser({ call })
      const browser = new Browser()
      const page = await openAccount(url, browser)
      for (const fields of [{}, { password: 'wrong horse' }] as Record<string, string>[]) {
        const refused = await browser.submit(page, { do: 'factor-begin', ...fields })
        expect(refused.status).to.equal(400)
        expect(refused.text).not.to.include('<svg')
      }
      const totp = await turnOn(url, browser)
      const guess = async () =>
        (await browser.submit(page, { do: 'factor-off', password: 'wrong horse' })).status
      const ends = [await guess(), await guess(), await guess(), await guess()]
      await browser.submit(page, { do: 'factor-confirm', code: totp.generate({ timestamp: clock.now() }) })
      ends.push(await guess(), await guess())
      expect(ends).to.deep.equal([400, 400, 400, 400, 400, 429])
    }))

  it('has its wrong codes in the audit log, like wrong passwords, without what was typed', () =>
    onClock(async (service) => {
      const { url } = service
      const id = await createUser(service)
      await turnOn(url, new Browser())
      await openAccount(url, new Browser(), 'canary password')
      const browser = new Browser()
      await signIn(browser, await browser.open(`${url}/account`), 'canary@example.com')
      await browser.submit(await openAccount(url, browser), { code: '123456', decision: 'allow' })
      const administration = await openAdministration(service.place)
      const failures = () => administration.listChanges({ action: 'sign_in.failed', limit: 10 })
      await until(async () => (await failures()).length >= 2)
      const entry = { action: 'sign_in.failed', actor: 'anonymous', target: id, before: null }
      const of = (wrong: string) => ({ ...entry, after: { wrong, address: '127.0.0.1' } })
      const entries = await failures()
      await administration.close()
      expect(entries).to.have.length(2)
      expect(entries[0]).to.deep.include(of('password'))
      expect(entries[1]).to.deep.include(of('code'))
      expect(JSON.stringify(entries)).not.to.match(/canary|123456/)
    }))

  it('can be turned off with the password alone', () =>
    onClock(async ({ url, call }) => {
      await createUser({ call })
      const browser = new Browser()
      await turnOn(url, browser)
      const page = await browser.open(`${url}/account`)
      expect((await browser.submit(page, { do: 'factor-off', password: 'x' })).status).to.equal(400)
      expect((await browser.submit(page, { do: 'factor-cancel' })).text).to.include(
        'The second factor is on.',
      )
      expect((await browser.submit(page, { do: 'factor-begin', password })).text).not.to.include('<svg')
      const off = await browser.submit(page, { do: 'factor-off', password })
      expect(off.text).to.include('The second factor is now off.')
      expect((await openAccount(url, new Browser())).text).to.include('Your account')
    }))

  it('is turned off by its recovery code, once, for a user who has lost the authenticator', () =>
    onClock(async (service) => {
      const { url } = service
      const id = await createUser(service)
      const here = new Browser()
      const recoveryCodeOn = ({ text }: Shown) => /(?:\d{5} ?){4}/.exec(text)?.[0].trim() ?? ''
      await turnOn(url, here)
      const page = await here.open(`${url}/account`)
      expect((await here.submit(page, { do: 'factor-recovery', password: 'x' })).status).to.equal(400)
      const code = recoveryCodeOn(await here.submit(page, { do: 'factor-recovery', password }))
      const enter = async (given: string) => {
        const browser = new Browser()
        return browser.submit(await openAccount(url, browser), { code: given, decision: 'allow' })
      }
      expect((await enter(code.replaceAll(/\d/g, '0'))).status).to.equal(400)
      expect((await enter('é'.repeat(20))).status).to.equal(400)
      const [one, two] = await Promise.all([enter(code), enter(code.replaceAll(' ', ''))])
      expect([one.status, two.status].sort()).to.deep.equal([200, 400])
      expect((await openAccount(url, new Browser())).text).to.include('The second factor is off.')
      const administration = await openAdministration(service.place)
      const [entry] = await administration.listChanges({ action: 'user.second_factor', limit: 1 })
      await administration.close()
      expect(entry).to.deep.include({
        ...by(id),
        before: { second_factor: true },
        after: { second_factor: false },
      })
      await turnOn(url, here)
      expect((await enter(code)).status).to.equal(400)
    }))
})

onEachEngine('sign-in sessions in the administration of the service', (withService, _engine) => {
  const withAdministration = async (
    service: TemporaryService,
    use: (sessions: Awaited<ReturnType<typeof openAdministration>>) => Promise<void>,
  ): Promise<void> => {
    await using administration = closing(await openAdministration(service.place))
    await use(administration)
  }

  it('are listed, and end immediately with everything that was signed in through them', () =>
    withService(async (service) => {
      const id = await createUser(service)
      const browser = new Browser({ 'user-agent': 'Firefox/1' })
      const tokens = await getTokens(service.url, { browser })
      await withAdministration(service, async (sessions) => {
        const [one, other, ...more] = await sessions.listSessions()
        expect(more).to.deep.equal([])
        const found = one?.kind === 'browser' ? one : other
        expect(found).to.include({
          user_id: id,
          email: 'ada@example.com',
          kind: 'browser',
          agent: 'Firefox/1',
        })
        const days = (Date.parse(other?.expires_at ?? '') - Date.now()) / 86_400_000
        expect(days).to.be.within(0.4, 30.1)
        expect(JSON.stringify([one, other])).not.to.include('hash')
        await sessions.revokeSession(found?.id ?? '')
        expect(await sessions.listSessions()).to.deep.equal([])
      })
      expect(await status(service.url, tokens.access_token)).to.equal(401)
      expect((await refresh(service.url, tokens.refresh_token)).status).to.equal(400)
      expect((await browser.open(`${service.url}/account`)).text).to.include('name="email"')
    }))

  it('of a program end without that of the browser', () =>
    withService(async (service) => {
      await createUser(service)
      const browser = new Browser()
      const tokens = await getTokens(service.url, { browser })
      await withAdministration(service, async (sessions) => {
        const program = (await sessions.listSessions()).find(({ kind }) => kind === 'program')
        expect(program?.scope).to.equal('chat:write')
        await sessions.revokeSession(program?.id ?? '')
        const again = await sessions.revokeSession(program?.id ?? '').catch((error) => error)
        expect(again.kind).to.equal('not_found')
      })
      expect(await status(service.url, tokens.access_token)).to.equal(401)
      expect((await browser.open(`${service.url}/account`)).text).to.include('Your account')
    }))

  it('that were ended during a sign-in do not come back', () =>
    withService(async (service) => {
      await createUser(service)
      const browser = new Browser()
      await openAccount(service.url, browser)
      const consent = await browser.open(askForCode(service.url).url)
      await withAdministration(service, async (sessions) => {
        const [session] = await sessions.listSessions()
        await sessions.revokeSession(session?.id ?? '')
      })
      const end = await browser.submit(consent, { decision: 'allow' })
      expect(end.url).not.to.include('code=')
      expect(end.status).to.equal(400)
    }))

  it('grant nothing to a user with an unknown role, as keys do', () =>
    withService(async (service) => {
      const id = await createUser(service)
      const { access_token: token } = await getTokens(service.url)
      const store = await openStore(service.place)
      await store.db.updateTable('users').set({ role: 'owner' }).where('id', '=', id).execute()
      await store.close()
      expect(await status(service.url, token)).to.equal(403)
    }))

  it('end when the user is deleted', () =>
    withService(async (service) => {
      const id = await createUser(service)
      const { access_token: token } = await getTokens(service.url)
      const store = await openStore(service.place)
      await store.db.deleteFrom('users').where('id', '=', id).execute()
      await store.close()
      expect(await status(service.url, token)).to.equal(401)
    }))
})
