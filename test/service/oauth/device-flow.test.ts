import { expect } from 'chai'
import { Secret, TOTP } from 'otpauth'
import { openAdministration } from '../../../src/service/administration/administration.ts'
import { startService } from '../../../src/service/start-service.ts'
import { type DataLocation, openStore } from '../../../src/service/store/open-store.ts'
import { closing } from '../../support/lifetime.ts'
import { SteppedClock } from '../../support/stepped-clock.ts'
import { caller, equip, onEachEngine, type TemporaryService, withPlace } from '../temporary-service.ts'
import { Browser, type Shown } from './browser.ts'
import { askForToken, createUser, refresh, signIn, type TokenResponse } from './flow.ts'

const [second, minute] = [1_000, 60_000]

/** The response to a device authorization request. */
interface Device {
  device_code: string
  user_code: string
  verification_uri: string
  verification_uri_complete: string
  expires_in: number
}

const requestDevice = (url: string, fields: Record<string, string> = {}, agent = 'chatctl/1 (test)') =>
  fetch(`${url}/oauth/device_authorization`, {
    method: 'POST',
    headers: { 'user-agent': agent },
    body: new URLSearchParams({ client_id: 'chatctl', ...fields }),
  })

async function beginDevice(url: string, fields?: Record<string, string>, agent?: string): Promise<Device> {
  const response = await requestDevice(url, fields, agent)
  expect(response.status).to.equal(200)
  return (await response.json()) as Device
}

const poll = (url: string, { device_code }: Device): Promise<TokenResponse> =>
  askForToken(url, { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code })

/** Opens the page for codes, signed in. */
async function openDevicePage(url: string, browser: Browser, address = `${url}/device`): Promise<Shown> {
  const page = await browser.open(address)
  return page.text.includes('name="password"') ? signIn(browser, page) : page
}

/** Enters a code and decides. */
async function decide(
  url: string,
  { user_code: code }: Device,
  decision: 'allow' | 'deny',
  browser = new Browser(),
): Promise<Shown> {
  const consent = await browser.submit(await openDevicePage(url, browser), { user_code: code })
  expect(consent.text).to.include('Allow chatctl to use your account?')
  return browser.submit(consent, { decision })
}

type Administration = Awaited<ReturnType<typeof openAdministration>>

async function administer<T>(
  place: DataLocation,
  clock: SteppedClock,
  use: (administration: Administration) => Promise<T>,
): Promise<T> {
  const administration = await openAdministration(place, clock)
  const result = await use(administration)
  await administration.close()
  return result
}

onEachEngine('the device flow of the embedded service', (withService, engine) => {
  /** Runs a service with one user and a stepped clock. */
  const onClock = (use: (service: TemporaryService, clock: SteppedClock, id: string) => Promise<void>) => {
    const clock = new SteppedClock()
    return withService(async (service) => use(service, clock, await createUser(service)), { clock })
  }

  it('issues tokens that act for the user who allowed it', () =>
    onClock(async ({ url, place }, clock, id) => {
      const device = await beginDevice(url, { scope: 'chat:read users:read' })
      expect(device.user_code).to.match(/^[B-Z]{4}-[B-Z]{4}$/)
      expect(device.verification_uri).to.equal(`${url}/device`)
      expect(device.verification_uri_complete).to.equal(`${url}/device?user_code=${device.user_code}`)
      expect(device.expires_in).to.equal(600)
      expect((await poll(url, device)).body.error).to.equal('authorization_pending')
      expect((await decide(url, device, 'allow')).text).to.include('<h1>Allowed</h1>')
      const { status, body } = await poll(url, device)
      expect(status, JSON.stringify(body)).to.equal(200)
      expect(body).to.include({ token_type: 'Bearer', expires_in: 3600, scope: 'chat:read users:read' })
      const profile = await caller(url, body.access_token)('GET', '/api/user/profile')
      expect(profile.body).to.include({ id, email: 'ada@example.com' })
      expect((await refresh(url, body.refresh_token)).status).to.equal(200)
      const sessions = await administer(place, clock, (administration) => administration.listSessions())
      expect(sessions.map(({ kind, scope }) => [kind, scope])).to.have.deep.members([
        ['browser', ''],
        ['program', 'chat:read users:read'],
      ])
    }))

  it('tells the program that the user denied it, once', () =>
    onClock(async ({ url }) => {
      const device = await beginDevice(url)
      expect((await decide(url, device, 'deny')).text).to.include('<h1>Canceled</h1>')
      expect((await poll(url, device)).body).to.include({ error: 'access_denied' })
      expect((await poll(url, device)).body).to.include({ error: 'invalid_grant' })
    }))

  it('shows the code, the program, its address, the time, and the rights before the user decides', () =>
    onClock(async ({ url }) => {
      const device = await beginDevice(url, { scope: 'chat:write' }, 'chatctl/1 <b>')
      const browser = new Browser()
      const page = await openDevicePage(url, browser, device.verification_uri_complete)
      expect(page.text, 'the code of the address').to.include(`value="${device.user_code}"`)
      expect(page.text).not.to.include('chatctl/1')
      const consent = await browser.submit(page, {
        user_code: device.user_code.toLowerCase().replace('-', ' '),
      })
      for (const fact of [
        ...[device.user_code, 'chatctl/1 &lt;b&gt;', '127.0.0.1', '2026-03-01 12:00 UTC'],
        ...['Chat as you and read your conversations', 'ada@example.com'],
      ])
        expect(consent.text).to.include(fact)
    }))

  it('asks for the second factor of the user', () =>
    onClock(async ({ url, place }, clock, id) => {
      const device = await beginDevice(url)
      const browser = new Browser()
      const account = await signIn(browser, await browser.open(`${url}/account`))
      const begun = await browser.submit(account, { do: 'factor-begin', password: 'correct horse battery' })
      const secret = /<code>([A-Z2-7 ]+)<\/code>/.exec(begun.text)?.[1]?.replaceAll(' ', '') ?? ''
      const totp = new TOTP({ secret: Secret.fromBase32(secret) })
      const code = () => totp.generate({ timestamp: clock.now() })
      await browser.submit(begun, { do: 'factor-confirm', code: code() })
      const other = new Browser()
      const asked = await openDevicePage(url, other, device.verification_uri_complete)
      expect(asked.text).to.include('<h1>Enter your code</h1>')
      clock.pass(30 * second)
      const page = await other.submit(asked, { code: code() })
      expect(page.url).to.equal(device.verification_uri_complete)
      expect(page.text).to.include(`value="${device.user_code}"`)
      await using store = closing(await openStore(place))
      expect(await store.db.selectFrom('oauth_records').select('model').where('user_id', '=', id).execute())
        .not.to.be.empty
    }))

  it('records who allowed or denied what', () =>
    onClock(async ({ url, place }, clock, id) => {
      await decide(url, await beginDevice(url, { scope: 'chat:read' }), 'allow')
      await decide(url, await beginDevice(url, { scope: 'users:read' }), 'deny')
      const entries = await administer(place, clock, (administration) =>
        administration.listChanges({ action: 'device', limit: 10 }),
      )
      const asked = (scope: string) => ({ scope, agent: 'chatctl/1 (test)', address: '127.0.0.1' })
      expect(
        entries.map(({ action, actor, target, before, after }) => ({ action, actor, target, before, after })),
      ).to.deep.equal([
        { action: 'device.approve', actor: id, target: id, before: null, after: asked('chat:read') },
        { action: 'device.deny', actor: id, target: id, before: asked('users:read'), after: null },
      ])
    }))

  it('refuses the scope admin, and unknown scopes, before the user sees a code', () =>
    onClock(async ({ url }) => {
      for (const scope of ['admin', 'chat:read admin', 'chat:everything']) {
        const response = await requestDevice(url, { scope })
        expect(response.status, scope).to.equal(400)
        expect(await response.json()).to.include({ error: 'invalid_scope' })
      }
    }))

  it('grants the scope admin only in a process that allows it', () =>
    withPlace(engine, async (place) => {
      const [open, closed] = [
        equip(await startService({ ...place, allowsDeviceAdmin: true }), place),
        equip(await startService(place), place),
      ]
      await createUser(open, undefined, 'admin')
      const device = await beginDevice(open.url, { scope: 'admin' })
      const browser = new Browser()
      const refused = await browser.submit(await openDevicePage(closed.url, browser), codeOf(device))
      expect(refused.text).to.include('which this service does not allow here')
      await decide(open.url, device, 'allow')
      const { body } = await poll(closed.url, device)
      expect(body.scope, JSON.stringify(body)).to.equal('admin')
      expect((await caller(closed.url, body.access_token)('GET', '/v1/settings')).status).to.equal(200)
      await open.close()
      await closed.close()
    }))

  it('works if the program polls another process than the one in which the user decides', () =>
    withPlace(engine, async (place) => {
      const [first, second] = [
        equip(await startService(place), place),
        equip(await startService(place), place),
      ]
      await createUser(first)
      const device = await beginDevice(first.url)
      expect((await poll(second.url, device)).body.error).to.equal('authorization_pending')
      await decide(first.url, device, 'allow')
      expect((await poll(second.url, device)).status).to.equal(200)
      expect((await poll(first.url, device)).body.error, 'a second use').to.equal('invalid_grant')
      await first.close()
      await second.close()
    }))

  it('lets only one of two users decide', () =>
    onClock(async ({ url, call }) => {
      await createUser({ call }, 'eve@example.com')
      const device = await beginDevice(url)
      const [ada, eve] = [new Browser(), new Browser()]
      const consents = await Promise.all([
        openDevicePage(url, ada).then((page) => ada.submit(page, codeOf(device))),
        eve
          .open(`${url}/device`)
          .then((page) => signIn(eve, page, 'eve@example.com'))
          .then((page) => eve.submit(page, codeOf(device))),
      ])
      const [first, second] = await Promise.all([
        ada.submit(consents[0], { decision: 'allow' }),
        eve.submit(consents[1], { decision: 'allow' }),
      ])
      const texts = [first.text, second.text]
      expect(texts.filter((text) => text.includes('<h1>Allowed</h1>'))).to.have.length(1)
      expect(texts.filter((text) => text.includes('already used'))).to.have.length(1)
      const { body } = await poll(url, device)
      const { body: user } = await caller(url, body.access_token)('GET', '/api/user/profile')
      expect(user.email).to.equal(first.text.includes('Allowed') ? 'ada@example.com' : 'eve@example.com')
    }))

  it('expires after ten minutes for the user and the program, and its record is removed', () =>
    onClock(async ({ url, place }, clock) => {
      const device = await beginDevice(url)
      const browser = new Browser()
      const page = await openDevicePage(url, browser)
      clock.pass(10 * minute + 2 * second)
      expect((await poll(url, device)).body.error).to.equal('expired_token')
      const late = await browser.submit(page, { user_code: device.user_code })
      expect(late).to.include({ status: 400 })
      expect(late.text).to.include('has expired')
      await beginDevice(url)
      const store = await openStore(place)
      const count = async () =>
        (
          await store.db
            .selectFrom('oauth_records')
            .select('id_hash')
            .where('model', '=', 'DeviceCode')
            .execute()
        ).length
      while ((await count()) > 1) await new Promise(setImmediate)
      await store.close()
      expect((await poll(url, device)).body.error).to.equal('invalid_grant')
    }))

  it('tells a program that polls too fast to slow down', () =>
    onClock(async ({ url }, clock) => {
      const device = await beginDevice(url)
      const answers: string[] = []
      for (let index = 0; index < 4; index++) answers.push((await poll(url, device)).body.error)
      expect(answers).to.deep.equal([
        ...['authorization_pending', 'authorization_pending', 'slow_down', 'slow_down'],
      ])
      clock.pass(5 * second)
      expect((await poll(url, device)).body.error).to.equal('authorization_pending')
      expect((await poll(url, await beginDevice(url))).body.error, 'another program').to.equal(
        'authorization_pending',
      )
    }))

  it('limits the requests of one network', () =>
    onClock(async ({ url }, clock) => {
      for (let index = 0; index < 30; index++) await beginDevice(url)
      const refused = await requestDevice(url)
      expect(refused.status).to.equal(429)
      expect(refused.headers.get('retry-after')).to.equal('2')
      expect(await refused.json()).to.include({ error: 'temporarily_unavailable' })
      clock.pass(2 * second)
      await beginDevice(url)
      expect((await requestDevice(url)).status).to.equal(429)
    }))

  it('limits the size of what a request stores', () =>
    onClock(async ({ url }) => {
      const response = await requestDevice(url, { login_hint: 'x'.repeat(2000) })
      expect(response.status).to.equal(400)
      expect(await response.json()).to.include({ error: 'invalid_request' })
    }))

  it('delays a user who enters wrong codes, also after a correct one, and also with a decision', () =>
    onClock(async ({ url }, clock) => {
      const device = await beginDevice(url)
      const browser = new Browser()
      const page = await openDevicePage(url, browser)
      const wrong = { user_code: 'BBBB-BBBB' }
      for (let index = 0; index < 4; index++) {
        expect(await browser.submit(page, index % 2 ? wrong : { ...wrong, decision: 'allow' })).to.include({
          status: 400,
        })
        expect(await browser.submit(page, codeOf(device))).to.include({ status: 200 })
      }
      expect(await browser.submit(page, wrong)).to.include({ status: 400 })
      const early = await browser.submit(page, codeOf(device))
      expect(early).to.include({ status: 429 })
      expect(early.headers.get('retry-after')).to.equal('5')
      clock.pass(5 * second)
      expect(await browser.submit(page, codeOf(device))).to.include({ status: 200 })
    }))

  it('does not count what cannot be a code', () =>
    onClock(async ({ url }) => {
      const browser = new Browser()
      const page = await openDevicePage(url, browser)
      for (const code of [
        '',
        'AEIOU',
        '1234-5678',
        'x'.repeat(5000),
        '"><script>',
        '\u202e\0',
        'BBBB-BBBBB',
      ]) {
        const answer = await browser.submit(page, { user_code: code })
        expect(answer, code).to.include({ status: 400 })
        expect(answer.text).to.include('A code has eight letters').and.not.to.include('<script')
      }
      expect((await browser.submit(page, { user_code: 'BBBB-BBBB' })).status).to.equal(400)
    }))

  it('asks for the code again if the sign-in session of the browser ends before the user decides', () =>
    onClock(async ({ url }) => {
      const device = await beginDevice(url)
      const browser = new Browser()
      const consent = await browser.submit(await openDevicePage(url, browser), codeOf(device))
      await browser.submit(await browser.open(`${url}/account`), { do: 'sign-out' })
      const asked = await browser.submit(consent, { decision: 'allow' })
      expect(asked.text).to.include('name="password"')
      const entry = await signIn(browser, asked)
      expect(entry.text).to.include('name="user_code"')
      expect((await poll(url, device)).body.error, 'not decided').to.equal('authorization_pending')
      const again = await browser.submit(entry, codeOf(device))
      expect((await browser.submit(again, { decision: 'allow' })).text).to.include('<h1>Allowed</h1>')
      expect((await poll(url, device)).status).to.equal(200)
    }))

  it('refuses forms of other sites', () =>
    onClock(async ({ url }) => {
      const device = await beginDevice(url)
      const browser = new Browser()
      const page = await openDevicePage(url, browser)
      const foreign = await browser.submit(
        page,
        { ...codeOf(device), decision: 'allow' },
        { origin: 'https://evil.example' },
      )
      expect(foreign.status).to.equal(403)
      const forged = await browser.submit(page, { ...codeOf(device), decision: 'allow', token: 'x' })
      expect(forged.status).to.equal(403)
      expect((await poll(url, device)).body.error).to.equal('authorization_pending')
    }))

  it('stores neither the device code nor the user code', () =>
    onClock(async ({ url, place }) => {
      const device = await beginDevice(url)
      await decide(url, device, 'allow')
      const store = await openStore(place)
      const rows = JSON.stringify(await store.db.selectFrom('oauth_records').selectAll().execute())
      await store.close()
      for (const secret of [device.device_code, device.user_code, device.user_code.replace('-', '')])
        expect(rows).not.to.include(secret)
    }))

  it('does not end if the browser in which it was allowed signs out', () =>
    onClock(async ({ url }) => {
      const device = await beginDevice(url)
      const browser = new Browser()
      await decide(url, device, 'allow', browser)
      const left = await browser.submit(await browser.open(`${url}/account`), { do: 'sign-out' })
      expect(left.text).to.include('Signed out')
      const { status, body } = await poll(url, device)
      expect(status).to.equal(200)
      expect((await refresh(url, body.refresh_token)).status).to.equal(200)
    }))

  it('ends if the sign-in session of the browser in which it was allowed is revoked', () =>
    onClock(async ({ url, place }, clock) => {
      const device = await beginDevice(url)
      await decide(url, device, 'allow')
      await administer(place, clock, async (administration) => {
        const [session] = await administration.listSessions()
        await administration.revokeSession(session?.id ?? '')
      })
      expect((await poll(url, device)).body.error).to.equal('invalid_grant')
    }))
})

const codeOf = ({ user_code }: Device) => ({ user_code })
