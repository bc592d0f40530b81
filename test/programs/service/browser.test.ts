import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { expectNothingStored, readCredential } from '../../support/credential-files.ts'
import { startBearerService } from '../../support/handlers/bearer.ts'
import { perSuite, perTest } from '../../support/lifetime.ts'
import { createFakeBrowser, type Login, startBuiltLogin } from '../../support/login-process.ts'
import { startOidcProvider } from '../../support/oidc-provider.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { loginFlags } from '../../support/sign-in.ts'
import { describeSample } from '../../support/take-sample.ts'
import { startChromium, take } from '../chromium.ts'

describeSample('signing in with a real browser', 1, () => {
  const browser = startChromium()
  const server = perSuite(startOidcProvider)
  const service = perSuite(() => startBearerService((token) => server.isLive(token)))
  const sandbox = perTest(createSandbox)

  it('shows a page of success if the user signs in and agrees', async () => {
    const { login, tab } = await open()
    await logIn(tab.page)
    await tab.page.getByRole('button', { name: 'Go on' }).click()
    await expectPage(tab, 'Signed in', 'You can close this tab and return to the terminal.')
    await take(tab.page, 'signed-in')
    const { exitCode, stderr } = await login.ended
    expect(exitCode, stderr).to.equal(0)
    expect(await server.isLive(readCredential(sandbox).access_token ?? '')).to.equal(true)
    await tab.page.context().close()
  })

  it('shows a page of failure if the user declines', async () => {
    const { login, tab } = await open()
    await logIn(tab.page)
    await tab.page.getByRole('button', { name: 'Deny' }).click()
    await expectPage(tab, 'Not signed in', 'The terminal shows the reason.')
    await take(tab.page, 'not-signed-in')
    expect(await login.ended).to.include({ exitCode: 4, stdout: '' })
    expectNothingStored(sandbox)
    await tab.page.context().close()
  })

  it('ignores the callback of another browser, and accepts that of the browser that opened the sign-in', async () => {
    const { login, tab } = await open()
    const other = await openTab(browser)
    await other.page.goto(authorizationUrlOf(tab))
    await logIn(other.page)
    await other.page.getByRole('button', { name: 'Go on' }).click()
    await other.page.getByRole('heading', { name: 'Unexpected request' }).waitFor()
    await take(other.page, 'not-expected')
    await other.page.context().close()
    await complete({ login, tab })
  })

  it('continues if the same browser opens the start page again, and ends if another one does', async () => {
    const { login, tab } = await open()
    const { href } = await login.address()
    await tab.page.goto(href)
    expect(await tab.page.title()).to.equal('Log in')
    const other = await openTab(browser)
    await other.page.goto(href)
    await other.page.getByRole('heading', { name: 'Not signed in' }).waitFor()
    const { exitCode, stderr } = await login.ended
    expect(exitCode).to.equal(4)
    expect(stderr).to.contain('Two browsers opened the sign-in page')
    await other.page.context().close()
    await tab.page.context().close()
  })

  /** Starts the sign-in, and opens the URL that it passes to the program in BROWSER. */
  async function open(): Promise<{ login: Login; tab: Tab }> {
    const program = createFakeBrowser(sandbox)
    const flags = [...loginFlags({ server, service }), '--scope', 'chat:write']
    const login = startBuiltLogin(sandbox, flags, { stdin: '', env: program.env, timeout: 60_000 })
    const tab = await openTab(browser)
    await tab.page.goto(await program.opened())
    return { login, tab }
  }
})

/** A tab with a separate profile, and everything that happened in it. */
interface Tab {
  page: Page
  /** Errors and warnings of the console, for example about what a policy blocked. */
  complaints: string[]
  requested: string[]
}

async function openTab(browser: Browser): Promise<Tab> {
  const context = await browser.newContext({ viewport: { width: 1000, height: 700 } })
  const page = await context.newPage()
  const tab: Tab = { page, complaints: [], requested: [] }
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) tab.complaints.push(message.text())
  })
  page.on('pageerror', ({ message }) => tab.complaints.push(message))
  page.on('request', (request) => tab.requested.push(request.url()))
  return tab
}

/** The authorization URL to which the start page led. */
function authorizationUrlOf({ requested }: Tab): string {
  const url = requested.find((one) => new URL(one).searchParams.has('code_challenge'))
  if (url === undefined) throw new Error(`it was led nowhere: ${requested}`)
  return url
}

/** Signs in and agrees, and expects the page of success. */
async function complete({ login, tab }: { login: Login; tab: Tab }): Promise<void> {
  await logIn(tab.page)
  await tab.page.getByRole('button', { name: 'Go on' }).click()
  await expectPage(tab, 'Signed in', 'You can close this tab')
  expect(await login.ended).to.include({ exitCode: 0 })
  await tab.page.context().close()
}

async function logIn(page: Page): Promise<void> {
  expect(await page.title()).to.equal('Log in')
  await page.getByLabel('Name').fill('ada')
  await page.getByLabel('Password').fill('secret')
  await page.getByRole('button', { name: 'Go on' }).click()
  await page.getByRole('heading', { name: 'Consent' }).waitFor()
}

/** Expects one of our pages, complete, with nothing else loaded for it. */
async function expectPage({ page, complaints, requested }: Tab, title: string, words: string): Promise<void> {
  await page.getByRole('heading', { name: title, exact: true }).waitFor()
  expect(await page.title()).to.equal(`${title} · chatctl`)
  expect(await page.locator('main').textContent()).to.contain(words)
  // Shows that the policy allows the style.
  expect(await page.evaluate('getComputedStyle(document.querySelector("main")).textAlign')).to.equal('center')
  await page.waitForLoadState('networkidle')
  expect(complaints).to.deep.equal([])
  const { origin } = new URL(page.url())
  const { pathname } = new URL(page.url())
  const [start, ...others] = requested.filter((url) => url.startsWith(origin))
  expect(start).to.match(new RegExp(`^${origin}${pathname}/[\\w-]{43}$`))
  expect(others).to.deep.equal([page.url()])
  expect(requested.at(-1)).to.equal(page.url())
}
