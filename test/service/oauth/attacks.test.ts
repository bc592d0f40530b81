import { expect } from 'chai'
import { startService } from '../../../src/service/start-service.ts'
import { type DataLocation, openStore } from '../../../src/service/store/open-store.ts'
import { closing } from '../../support/lifetime.ts'
import {
  caller,
  type Engine,
  equip,
  onEachEngine,
  type TemporaryService,
  withPlace,
} from '../temporary-service.ts'
import { Browser } from './browser.ts'
import {
  askForCode,
  askForToken,
  createUser,
  exchange,
  getCode,
  getTokens,
  redirectUri,
  refresh,
  signIn,
} from './flow.ts'

/** Status of a request for the profile with a token. */
const profileStatus = async (url: string, token: string): Promise<number> =>
  (await caller(url, token)('GET', '/api/user/profile')).status

/** Two services on one directory, like two processes. */
const withTwo = (
  engine: Engine,
  use: (one: TemporaryService, other: TemporaryService) => Promise<void>,
): Promise<void> =>
  withPlace(engine, async (place) => {
    const one = equip(await startService(place))
    const other = equip(await startService(place))
    try {
      await use(one, other)
    } finally {
      await one.close()
      await other.close()
    }
  })

/** Makes all records of one kind expire. */
async function expire(place: DataLocation, model: string): Promise<void> {
  await using store = closing(await openStore(place))
  await store.db.updateTable('oauth_records').set({ expires_at: 1 }).where('model', '=', model).execute()
}

onEachEngine('an authorization code of the embedded service', (withService, engine) => {
  it('gives tokens that act for the user, and a second use revokes them', () =>
    withService(async (service) => {
      const id = await createUser(service)
      const request = askForCode(service.url)
      const parameters = await getCode(new Browser(), request)
      expect(Object.fromEntries(parameters)).to.include({ state: request.state, iss: service.url })
      const code = parameters.get('code') ?? ''
      const { status, body } = await exchange(service.url, code, request.verifier)
      expect(status, JSON.stringify(body)).to.equal(200)
      expect(body).to.include({ token_type: 'Bearer', expires_in: 3600, scope: 'chat:write' })
      const profile = await caller(service.url, body.access_token)('GET', '/api/user/profile')
      expect(profile.body, profile.text).to.include({ id, email: 'ada@example.com' })
      const replay = await exchange(service.url, code, request.verifier)
      expect(replay).to.deep.include({ status: 400 })
      expect(replay.body.error).to.equal('invalid_grant')
      expect(await profileStatus(service.url, body.access_token)).to.equal(401)
      expect((await refresh(service.url, body.refresh_token)).status).to.equal(400)
    }))

  it('gives tokens once if two services receive it eight times, and those tokens are revoked', () =>
    withTwo(engine, async (one, other) => {
      await createUser(one)
      const request = askForCode(one.url)
      const code = (await getCode(new Browser(), request)).get('code') ?? ''
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, index) =>
          exchange(index % 2 ? one.url : other.url, code, request.verifier),
        ),
      )
      const given = answers.filter(({ status }) => status === 200)
      expect(given).to.have.length(1)
      for (const { status, body } of answers.filter((answer) => !given.includes(answer)))
        expect([status, body.error]).to.deep.equal([400, 'invalid_grant'])
      for (const { body } of given) expect(await profileStatus(one.url, body.access_token)).to.equal(401)
    }))

  it('is rejected after it has expired', () =>
    withService(async (service) => {
      await createUser(service)
      const request = askForCode(service.url)
      const code = (await getCode(new Browser(), request)).get('code') ?? ''
      await expire(service.place, 'AuthorizationCode')
      const { status, body } = await exchange(service.url, code, request.verifier)
      expect(status).to.equal(400)
      expect(body.error).to.equal('invalid_grant')
    }))

  it('is worthless with another verifier, redirect URI, or client', () =>
    withService(async (service) => {
      await createUser(service)
      const browser = new Browser()
      const fields = async (changes: Record<string, string>) => {
        const request = askForCode(service.url)
        const code = (await getCode(browser, request)).get('code') ?? ''
        return {
          ...{ grant_type: 'authorization_code', code, redirect_uri: redirectUri },
          ...{ code_verifier: request.verifier, ...changes },
        }
      }
      for (const changes of [
        { code_verifier: 'x'.repeat(43) },
        { code_verifier: '' },
        { redirect_uri: 'http://127.0.0.1:53124/callback' },
        { client_id: 'another' },
      ] as Record<string, string>[]) {
        const { status, body } = await askForToken(service.url, await fields(changes))
        expect(status, JSON.stringify(changes)).to.be.within(400, 401)
        expect(body).not.to.have.property('access_token')
      }
    }))
})

onEachEngine('a request for an authorization code of the embedded service', (withService, _engine) => {
  it('is rejected without a redirect for another redirect URI', () =>
    withService(async (service) => {
      for (const address of [
        'https://evil.example/callback',
        'http://127.0.0.1:53123/other',
        'http://127.0.0.1@evil.example/callback',
        'http://127.0.0.1.evil.example/callback',
        'http://127.0.0.1:53123/callback?next=https://evil.example',
        'http://127.0.0.1:53123/callback#x',
        'http://localhost:53123/callback',
        'https://127.0.0.1:53123/callback',
        'javascript:alert(1)//callback',
        '//evil.example/callback',
        undefined,
      ]) {
        const { url } = askForCode(service.url, { redirect_uri: address })
        const shown = await new Browser().send(url, {})
        expect(shown.status, address).to.equal(400)
        expect(shown.headers.get('location')).to.equal(null)
        expect(shown.text).to.include('Sign-in failed')
      }
    }))

  it('is rejected for an unknown client, and for another response mode than a query', () =>
    withService(async (service) => {
      const shown = await new Browser().send(askForCode(service.url, { client_id: '<b>x</b>' }).url, {})
      expect(shown.status).to.equal(400)
      expect(shown.text).not.to.include('<b>x</b>')
      for (const mode of ['form_post', 'fragment']) {
        const { url } = askForCode(service.url, { response_mode: mode })
        expect((await new Browser().send(url, {})).status).to.equal(400)
      }
    }))

  const refused: [string, Record<string, string | undefined>, string][] = [
    ['no challenge', { code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request'],
    [
      'a plain challenge',
      { code_challenge: 'x'.repeat(43), code_challenge_method: 'plain' },
      'invalid_request',
    ],
    ['a challenge without its method', { code_challenge_method: undefined }, 'invalid_request'],
    ['an unknown scope', { scope: 'chat:write everything' }, 'invalid_scope'],
    ['a scope that is the name of an object property', { scope: 'constructor' }, 'invalid_scope'],
    ['another response type', { response_type: 'token' }, 'unsupported_response_type'],
    ['prompt=none without a session', { prompt: 'none' }, 'login_required'],
  ]
  it('redirects to the program with the error if it is refused', () =>
    withService(async (service) => {
      for (const [what, changes, error] of refused) {
        const { url, state } = askForCode(service.url, changes)
        const shown = await new Browser().open(url)
        expect(shown.url.startsWith(redirectUri), shown.text).to.equal(true)
        // The response to `token` would be in a fragment (RFC 6749 section 4.2.2.1).
        const { search, hash } = new URL(shown.url)
        const answer = Object.fromEntries(new URLSearchParams(search || hash.slice(1)))
        expect(answer, what).to.include({ error, state, iss: service.url })
      }
    }))

  it('may have an IPv6 address and any port in its redirect URI', () =>
    withService(async (service) => {
      await createUser(service)
      for (const address of ['http://[::1]:8080/callback', 'http://127.0.0.1/callback']) {
        const browser = new Browser()
        const page = await browser.open(askForCode(service.url, { redirect_uri: address }).url)
        const end = await browser.submit(await signIn(browser, page), { decision: 'allow' })
        expect(end.url.startsWith(address), end.url).to.equal(true)
      }
    }))

  it('is not affected by headers that name another host', () =>
    withService(async (service) => {
      const headers = {
        'x-forwarded-host': 'evil.example',
        'x-forwarded-proto': 'https',
        forwarded: 'host=evil',
      }
      const browser = new Browser(headers)
      const shown = await browser.send(askForCode(service.url).url, {})
      expect(shown.headers.get('location')).to.match(/^\/sign-in\//)
      await createUser(service)
      const consent = await signIn(browser, await browser.open(askForCode(service.url).url))
      expect(consent.text).to.include('use your account?')
      expect(consent.headers.get('set-cookie') ?? '').not.to.include('Secure')
    }))
})

onEachEngine('tokens of the embedded service', (withService, engine) => {
  it('are rejected after they have expired, and end with their grant, however often they were renewed', () =>
    withService(async (service) => {
      await createUser(service)
      const tokens = await getTokens(service.url)
      await expire(service.place, 'AccessToken')
      expect(await profileStatus(service.url, tokens.access_token)).to.equal(401)
      const { body } = await refresh(service.url, tokens.refresh_token)
      expect(await profileStatus(service.url, body.access_token)).to.equal(200)
      await expire(service.place, 'Grant')
      expect(await profileStatus(service.url, body.access_token)).to.equal(401)
      expect((await refresh(service.url, body.refresh_token)).status).to.equal(400)
    }))

  it('all end if a refresh token is used twice', () =>
    withService(async (service) => {
      await createUser(service)
      const tokens = await getTokens(service.url)
      const { body } = await refresh(service.url, tokens.refresh_token)
      expect(body.refresh_token).not.to.equal(tokens.refresh_token)
      expect(await profileStatus(service.url, body.access_token)).to.equal(200)
      expect((await refresh(service.url, tokens.refresh_token)).body.error).to.equal('invalid_grant')
      expect(await profileStatus(service.url, body.access_token)).to.equal(401)
      expect((await refresh(service.url, body.refresh_token)).status).to.equal(400)
    }))

  it('are renewed once if two services receive a refresh token eight times', () =>
    withTwo(engine, async (one, other) => {
      await createUser(one)
      const tokens = await getTokens(one.url)
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, index) =>
          refresh(index % 2 ? one.url : other.url, tokens.refresh_token),
        ),
      )
      expect(answers.filter(({ status }) => status === 200)).to.have.length(1)
    }))

  it('cannot be renewed with more scope than the user allowed', () =>
    withService(async (service) => {
      await createUser(service, undefined, 'admin')
      const tokens = await getTokens(service.url, { scope: 'settings:read' })
      const more = await askForToken(service.url, {
        ...{ grant_type: 'refresh_token', refresh_token: tokens.refresh_token, scope: 'admin' },
      })
      expect(more.body.error).to.equal('invalid_scope')
    }))

  it('end if either of them is revoked', () =>
    withService(async (service) => {
      await createUser(service)
      for (const name of ['access_token', 'refresh_token'] as const) {
        const tokens = await getTokens(service.url)
        const body = new URLSearchParams({ client_id: 'chatctl', token: tokens[name] })
        expect((await fetch(`${service.url}/oauth/revoke`, { method: 'POST', body })).status).to.equal(200)
        expect(await profileStatus(service.url, tokens.access_token)).to.equal(401)
        expect((await refresh(service.url, tokens.refresh_token)).status).to.equal(400)
      }
    }))

  it('of one sign-in are revoked alone, without those of another one in the same browser', () =>
    withService(async (service) => {
      await createUser(service)
      const browser = new Browser()
      const [first, second] = [
        await getTokens(service.url, { browser }),
        await getTokens(service.url, { browser }),
      ]
      const page = await browser.open(askForCode(service.url).url)
      expect(page.text).to.include('You are signed in as <b>ada@example.com</b>')
      const token = first.refresh_token
      await fetch(`${service.url}/oauth/revoke`, {
        method: 'POST',
        body: new URLSearchParams({ client_id: 'chatctl', token }),
      })
      expect(await profileStatus(service.url, first.access_token)).to.equal(401)
      expect(await profileStatus(service.url, second.access_token)).to.equal(200)
      expect((await refresh(service.url, second.refresh_token)).status).to.equal(200)
    }))

  it("have the scope that the user allowed, and never more than the user's own permissions", () =>
    withService(async (service) => {
      const id = await createUser(service)
      const { access_token: token } = await getTokens(service.url, {
        scope: 'settings:read users:read admin',
      })
      const call = caller(service.url, token)
      expect((await call('GET', '/v1/settings')).status).to.equal(200)
      const refusal = await call('GET', `/v1/users/${id}`)
      expect(refusal.status).to.equal(403)
      expect(refusal.body.error.details).to.deep.equal({ missing_permission: 'read:users' })
      await service.call('POST', `/v1/users/${id}/permissions`, { role: 'admin' })
      expect((await call('GET', `/v1/users/${id}`)).status).to.equal(200)
      const narrow = caller(service.url, (await getTokens(service.url, { scope: 'chat:read' })).access_token)
      expect((await narrow('GET', '/api/chat/history')).status).to.equal(200)
      expect((await narrow('GET', '/api/user/profile')).status).to.equal(200)
      expect((await narrow('POST', '/api/chat/send', { message: 'x' })).status).to.equal(403)
      expect((await narrow('GET', '/v1/settings')).status).to.equal(403)
    }))

  it('cannot be replaced by anything that is stored in the database', () =>
    withService(async (service) => {
      await createUser(service)
      const { access_token: token } = await getTokens(service.url)
      const store = await openStore(service.place)
      const rows = await store.db.selectFrom('oauth_records').selectAll().execute()
      await store.close()
      expect(rows.length).to.be.above(2)
      for (const { id_hash: hash } of rows)
        for (const guess of [hash, `#${hash}`]) {
          expect(await profileStatus(service.url, guess)).to.equal(401)
          expect((await refresh(service.url, guess)).status).to.equal(400)
        }
      expect(await profileStatus(service.url, token)).to.equal(200)
    }))
})
