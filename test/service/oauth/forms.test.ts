import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect } from 'chai'
import { openOAuth } from '../../../src/service/oauth/open-oauth.ts'
import { openSqlite } from '../../../src/service/store/sqlite/open-sqlite.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { closing } from '../../support/lifetime.ts'
import { withDirectory, withService } from '../temporary-service.ts'
import { Browser, readForm, type Shown } from './browser.ts'
import { askForCode, createUser, password, signIn } from './flow.ts'

/** A page with a form, the correct fields, and the browser that opened it. */
interface Place {
  browser: Browser
  page: Shown
  fields: Record<string, string>
}

const login = { email: 'ada@example.com', password, decision: 'allow' }

/** Every form of the sign-in. */
const places: Record<string, (url: string) => Promise<Place>> = {
  'the password form': async (url) => {
    const browser = new Browser()
    return { browser, page: await browser.open(askForCode(url).url), fields: login }
  },
  'the form that denies a request': async (url) => {
    const browser = new Browser()
    return { browser, page: await browser.open(askForCode(url).url), fields: { decision: 'deny' } }
  },
  'the consent form': async (url) => {
    const browser = new Browser()
    const page = await signIn(browser, await browser.open(askForCode(url).url))
    return { browser, page, fields: { decision: 'allow' } }
  },
  'the sign-in form without a program': async (url) => {
    const browser = new Browser()
    return { browser, page: await browser.open(`${url}/sign-in`), fields: login }
  },
  ...Object.fromEntries(
    [
      { do: 'sign-out' },
      { do: 'password', password, new: 'another password' },
      { do: 'factor-begin', password },
    ].map((fields) => [
      `the account form for ${fields.do}`,
      async (url: string) => {
        const browser = new Browser()
        const page = await signIn(browser, await browser.open(`${url}/account`))
        return { browser, page, fields }
      },
    ]),
  ),
}

describe('the forms of the sign-in', () => {
  for (const [name, reach] of Object.entries(places))
    it(`include ${name}, which is accepted only from its own page`, () =>
      withService(async ({ url, call }) => {
        await createUser({ call })
        const { browser, page, fields } = await reach(url)
        const { action, body } = readForm(page, fields)
        const send = (
          changes: Record<string, string>,
          headers: Record<string, string>,
          from = browser,
        ): Promise<Shown> => {
          const changed = new URLSearchParams(body)
          for (const [key, value] of Object.entries(changes)) changed.set(key, value)
          return from.send(action, { method: 'POST', body: changed, headers })
        }
        for (const token of ['', 'x', 'x'.repeat(43), `${body.get('token')}x`])
          expect((await send({ token }, { origin: url })).status, token).to.equal(403)
        for (const headers of [
          { origin: 'https://evil.example' },
          { origin: 'null' },
          { origin: url.replace('127.0.0.1', 'localhost') },
          { 'sec-fetch-site': 'cross-site' },
          { 'sec-fetch-site': 'same-site' },
        ] as Record<string, string>[])
          expect((await send({}, headers)).status).to.equal(403)
        expect((await send({}, { 'content-type': 'text/plain', origin: url })).status).to.equal(415)
        // Another browser has neither the cookie of the sign-in nor that of the session.
        const foreign = await send({}, { origin: url }, new Browser())
        expect(foreign.status === 400 || foreign.headers.get('location') === '/sign-in').to.equal(true)
        const taken = await send({}, { origin: url })
        expect(taken.status, taken.text).to.be.oneOf([200, 303])
      }))

  it('are rejected if they are too long', () =>
    withService(async ({ url, call }) => {
      await createUser({ call })
      const browser = new Browser()
      const page = await browser.open(askForCode(url).url)
      expect((await browser.submit(page, { ...login, password: 'x'.repeat(20_000) })).status).to.equal(413)
    }))

  it('cause no error of the service if they are interrupted', () =>
    withDirectory(async (directory) => {
      await using store = closing(openSqlite(directory))
      const troubles: unknown[] = []
      const answered: Promise<void>[] = []
      const server = createServer((request, response) => {
        answered.push(oauth(request, response, '127.0.0.1'))
      }).listen(0, '127.0.0.1')
      await once(server, 'listening')
      const { port } = server.address() as AddressInfo
      const issuer = `http://127.0.0.1:${port}`
      const oauth = await openOAuth({
        store,
        dataDir: directory,
        issuer,
        clock: systemClock,
        checkSchema: async () => {},
        authenticate: () => Promise.reject(new Error('not used')),
        onError: (error) => troubles.push(error),
      })
      const browser = new Browser()
      const page = await browser.open(`${issuer}/sign-in`)
      const cookie = [...browser.cookies.values()].map(({ name, value }) => `${name}=${value}`).join('; ')
      const socket = connect(port, '127.0.0.1')
      socket.write(
        `POST ${new URL(page.url).pathname} HTTP/1.1\r\nHost: x\r\nCookie: ${cookie}\r\nContent-Length: 100\r\n` +
          'Content-Type: application/x-www-form-urlencoded\r\n\r\nemail=',
      )
      await once(server, 'request')
      await new Promise((resolve) => setTimeout(resolve, 20))
      socket.destroy()
      await new Promise((resolve) => setTimeout(resolve, 20))
      await Promise.all(answered)
      expect(troubles).to.deep.equal([])
      server.close()
      server.closeAllConnections()
    }))

  it('show input as text', () =>
    withService(async ({ url }) => {
      const browser = new Browser()
      const page = await browser.open(askForCode(url).url)
      const answer = await browser.submit(page, { ...login, email: `"><script>alert(1)</script>'` })
      expect(answer.text).not.to.include('<script>')
      expect(answer.text).to.include('&lt;script&gt;')
    }))

  it('are on pages that cannot be extended, framed, or cached', () =>
    withService(async ({ url, call }) => {
      await createUser({ call })
      const browser = new Browser()
      const pages = [await browser.open(askForCode(url).url)]
      pages.push(await signIn(browser, pages[0] as Shown))
      pages.push(await browser.open(`${url}/account`))
      pages.push(await browser.open(`${url}/oauth/authorize`))
      for (const { headers, text } of pages) {
        const policy = headers.get('content-security-policy') ?? ''
        expect(policy).to.match(/^default-src 'none'; style-src 'sha256-[\w+/=]+'; base-uri 'none'; /)
        expect(policy).to.match(/frame-ancestors 'none'$/)
        expect(policy).not.to.include('unsafe')
        expect(headers.get('cache-control')).to.equal('no-store')
        expect(headers.get('x-content-type-options')).to.equal('nosniff')
        expect(headers.get('x-request-id')).to.match(/^req_/)
        expect(text).to.include('<html lang="en">')
        expect(text).not.to.match(/<script|javascript:| on\w+=/)
      }
    }))

  it('set cookies that no script can read and no other site can send', () =>
    withService(
      async ({ url, call }) => {
        await createUser({ call })
        const browser = new Browser()
        const first = await browser.send(askForCode(url).url, {})
        const begun = first.headers.getSetCookie()
        expect(begun.length).to.be.above(1)
        expect(begun.map((line) => line.split('=', 1)[0])).to.include('__Secure-chatctl-sign-in')
        for (const line of begun) expect(line).to.match(/samesite=lax; secure; httponly/i)
        const page = await browser.send(new URL(first.headers.get('location') ?? '', url).href, {})
        const { action, body } = readForm(page, login)
        const headers = { origin: 'https://chat.example' }
        const signedIn = await browser.send(action, { method: 'POST', body, headers })
        const session = signedIn.headers.getSetCookie().filter((line) => line.startsWith('__Host-chatctl'))
        expect(session.length).to.be.above(1)
        for (const line of session)
          expect(line).to.match(/path=\/; expires=.+; samesite=lax; secure; httponly/i)
        expect(signedIn.headers.get('location')).to.match(/^https:\/\/chat\.example\/oauth\/authorize\//)
      },
      { publicUrl: 'https://chat.example' },
    ))

  it('are on the host of the cookies, so that localhost is redirected there', () =>
    withService(async ({ url }) => {
      const { port } = new URL(url)
      const answer = await new Browser().send(`http://localhost:${port}/account`, {})
      expect(answer.headers.get('location')).to.equal(`${url}/account`)
    }))
})
