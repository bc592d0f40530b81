import { join } from 'node:path'
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { caller } from '../../service/temporary-service.ts'
import { perSuite } from '../../support/lifetime.ts'
import { makeKey, runService, type ServiceProcess } from '../../support/run-service.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { answer, type ScriptedServer, startScriptedServer } from '../../support/scripted-server.ts'
import { startChromium } from '../chromium.ts'

describe('a page of another origin in a real browser', () => {
  const browser = startChromium()
  let site: ScriptedServer
  const sandbox = perSuite(createSandbox)
  let service: ServiceProcess
  let key: string
  let page: Page
  before(async () => {
    const html = { 'content-type': 'text/html' }
    site = await startScriptedServer(answer(200, html, '<!doctype html><title>Elsewhere</title>'))
    const where = ['--data', join(sandbox.home, 'data')]
    service = await runService(sandbox, where)
    key = await makeKey(sandbox, [...where, '--tier', 'pro'])
  })
  after(async () => {
    await site?.close()
    await service?.stop()
  })
  beforeEach(async () => {
    // A separate browser profile, because a browser remembers preflights.
    page = await (await browser.newContext()).newPage()
    await page.goto(site.url)
  })
  afterEach(() => page.context().close())

  const configure = (cors: object) => caller(service.url, key)('POST', '/v1/settings/api', { cors })

  /** What a script of the page can see: the status and some headers, or the name of the error. */
  const fetchFromPage = (method: string, path: string, withKey = true): Promise<unknown> =>
    page.evaluate(`(async () => {
      const body = ${JSON.stringify(method)} === 'PATCH' ? '{}' : undefined
      try {
        const response = await fetch(${JSON.stringify(service.url + path)}, {
          method: ${JSON.stringify(method)},
          body,
          headers: {
            ...(${withKey} && { authorization: 'Bearer ${key}' }),
            ...(body && { 'content-type': 'application/json' }),
          },
        })
        const { error } = await response.json()
        return { status: response.status, quota: response.headers.has('ratelimit'), code: error?.code }
      } catch (error) {
        return error.name
      }
    })()`)

  it('cannot read a response before its origin is allowed', async () => {
    expect(await fetchFromPage('GET', '/v1/settings')).to.equal('TypeError')
    expect(await fetchFromPage('GET', '/v1/settings', false)).to.equal('TypeError')
  })

  it('can use a key once its origin is allowed, and sees errors and its quota', async () => {
    await configure({ allowed_origins: [site.url] })
    expect(await fetchFromPage('GET', '/v1/settings')).to.deep.include({ status: 200, quota: true })
    expect(await fetchFromPage('PATCH', '/v1/settings')).to.deep.include({ status: 200, quota: true })
    expect(await fetchFromPage('GET', '/v1/nowhere')).to.deep.equal({
      status: 404,
      quota: true,
      code: 'not_found',
    })
    expect(await fetchFromPage('GET', '/v1/settings', false)).to.deep.equal({
      status: 401,
      quota: false,
      code: 'unauthorized',
    })
  })

  it('can use the allowed methods only', async () => {
    await configure({ allowed_origins: ['*'], allowed_methods: ['GET'] })
    expect(await fetchFromPage('GET', '/v1/settings')).to.deep.include({ status: 200 })
    expect(await fetchFromPage('PATCH', '/v1/settings')).to.equal('TypeError')
  })

  it('can no longer read responses after its origin is removed', async () => {
    await configure({ allowed_origins: [site.url], allowed_methods: ['GET', 'POST'] })
    expect(await fetchFromPage('GET', '/v1/settings')).to.deep.include({ status: 200 })
    await configure({ allowed_origins: ['https://another.example'] })
    // The browser still remembers the preflight, but the response has no permission any more.
    expect(await fetchFromPage('GET', '/v1/settings')).to.equal('TypeError')
  })
})
