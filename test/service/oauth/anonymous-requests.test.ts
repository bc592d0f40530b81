import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { startService } from '../../../src/service/start-service.ts'
import { openStore } from '../../../src/service/store/open-store.ts'
import { SteppedClock } from '../../support/stepped-clock.ts'
import { withCountedService } from '../limits/counted-service.ts'
import { equip, onEachEngine, type TemporaryService, withPlace, withService } from '../temporary-service.ts'
import { Browser } from './browser.ts'
import { askForCode, createUser, exchange, redirectUri, signIn } from './flow.ts'

/** Number of records that the OAuth server has stored. */
async function countRecords({ place }: Pick<TemporaryService, 'place'>): Promise<number> {
  const store = await openStore(place)
  const records = await store.db.selectFrom('oauth_records').select('model').execute()
  await store.close()
  return records.length
}

onEachEngine('a request without a credential', (withService, engine) => {
  it('stores nothing before the correct password is entered', () =>
    withService(async (service) => {
      await createUser(service)
      for (let index = 0; index < 5; index++) {
        const browser = new Browser()
        const page = await browser.open(askForCode(service.url, { state: 'x'.repeat(512) }).url)
        expect((await signIn(browser, page, undefined, 'wrong horse')).status).to.be.oneOf([400, 429])
        await browser.submit(page, { decision: 'deny' })
        await browser.open(`${service.url}/sign-in`)
        await browser.open(`${service.url}/account`)
      }
      expect(await countRecords(service)).to.equal(0)
    }))

  it('begins a sign-in that another process can continue, even after the first has stopped', () =>
    withPlace(engine, async (place) => {
      let serving = ''
      const proxy = createServer((incoming, answer) => {
        const { method, headers, url } = incoming
        const outgoing = request(serving + url, { method, headers }, (response) => {
          answer.writeHead(response.statusCode ?? 502, response.headers)
          response.pipe(answer)
        })
        incoming.pipe(outgoing)
      }).listen(0, '127.0.0.1')
      await once(proxy, 'listening')
      const publicUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
      const start = async () => {
        const service = equip(await startService({ ...place, behindProxy: true, publicUrl }), place)
        serving = service.url
        return service
      }
      const first = await start()
      await createUser(first)
      const browser = new Browser()
      const asked = askForCode(publicUrl)
      const page = await browser.open(asked.url)
      const second = await start()
      await first.close()
      const consent = await signIn(browser, page)
      const third = await start()
      await second.close()
      const end = await browser.submit(consent, { decision: 'allow' })
      const code = new URL(end.url).searchParams.get('code') ?? ''
      expect((await exchange(publicUrl, code, asked.verifier)).status).to.equal(200)
      await third.close()
      proxy.close()
      proxy.closeAllConnections()
    }))
})

describe('the request that begins a sign-in', () => {
  it('returns to the program with its state if the user denies it', () =>
    withService(async ({ url }) => {
      const state = '~'.repeat(500)
      const browser = new Browser()
      const end = await browser.submit(await browser.open(askForCode(url, { state }).url), {
        decision: 'deny',
      })
      expect(end.url.startsWith(`${redirectUri}?`)).to.equal(true)
      const answer = {
        error: 'access_denied',
        error_description: 'The user denied the request',
        state,
        iss: url,
      }
      expect(Object.fromEntries(new URL(end.url).searchParams)).to.deep.equal(answer)
    }))

  it('can be completed once, and cannot be altered or moved to another sign-in', () =>
    withService(async (service) => {
      await createUser(service)
      const browser = new Browser()
      const page = await browser.open(askForCode(service.url).url)
      const cookies = [...browser.cookies.entries()]
      const [key = '', kept] = cookies.find(([name]) => name.includes('-request')) ?? []
      if (!kept) throw new Error('the browser holds no request')
      const [body = '', signature = ''] = kept.value.split('.')
      const [first = ''] = signature
      const forged = Buffer.from(
        Buffer.from(body, 'base64url').toString().replace('53123', '53124'),
      ).toString('base64url')
      for (const value of [
        `${forged}.${signature}`,
        `${body}.${first === 'A' ? 'B' : 'A'}${signature.slice(1)}`,
        body,
        '',
      ]) {
        browser.cookies.set(key, { ...kept, value })
        expect((await browser.open(page.url)).status, value.slice(-9)).to.equal(400)
      }
      const other = new Browser()
      const otherPage = await other.open(askForCode(service.url).url)
      for (const [name, cookie] of other.cookies)
        if (name.includes('-request')) other.cookies.set(name, { ...cookie, value: kept.value })
      expect((await other.open(otherPage.url)).status).to.equal(400)

      browser.cookies.set(key, kept)
      expect((await browser.open(page.url)).status).to.equal(200)
      expect((await signIn(browser, page)).text).to.include('use your account?')
      const again = await browser.open(page.url)
      expect(again.status).to.equal(400)
      expect(again.text).to.include('This sign-in has ended')
    }))

  it('has parameters of at most 512 characters of printable ASCII each, and 1,024 in all', () =>
    withService(async ({ url }) => {
      const open = (changes: Record<string, string>) =>
        new Browser().send(askForCode(url, changes).url, { redirect: 'manual' })
      expect((await open({ state: '~'.repeat(512) })).status).to.equal(303)
      expect((await open({ state: '~'.repeat(513) })).text).to.include(
        'The state must not exceed 512 characters.',
      )
      const long = 'x'.repeat(500)
      expect((await open({ state: long, nonce: long })).text).to.include(
        'must not exceed 1,024 characters in all.',
      )
      expect((await open({ state: 'caf\u00e9' })).text).to.include('The state must be printable ASCII.')
      expect((await open({ state: 'a\0b' })).status).to.equal(400)
    }))

  it('is rejected with Retry-After above 200 at the same time and 20 a second from one network', () => {
    const clock = new SteppedClock(undefined, Date.UTC(2026, 0, 1))
    return withCountedService(
      async ({ url }) => {
        const begin = async (count: number) => {
          const statuses: number[] = []
          for (let index = 0; index < count; index++) {
            const path = index % 2 ? '/sign-in' : '/oauth/authorize?client_id=x'
            const { status, headers } = await new Browser().send(url + path, {})
            statuses.push(status)
            if (status === 429) expect(headers.get('retry-after')).to.equal('1')
          }
          return statuses.filter((status) => status !== 429).length
        }
        expect(await begin(230)).to.equal(200)
        clock.pass(1000)
        expect(await begin(30)).to.equal(20)
        // Requests that begin no sign-in are not limited.
        expect((await new Browser().send(`${url}/account`, {})).status).to.equal(303)
      },
      { clock },
    )
  })
})
