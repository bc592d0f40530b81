import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { expect } from 'chai'
import { Secret, TOTP } from 'otpauth'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { perTest } from '../../support/lifetime.ts'
import { createFakeBrowser, startBuiltLogin } from '../../support/login-process.ts'
import { runProgram } from '../../support/run-program.ts'
import { createUser, runService } from '../../support/run-service.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { describeSample } from '../../support/take-sample.ts'
import { startChromium, take } from '../chromium.ts'

const person = { email: 'ada@example.com', password: 'correct horse battery' }

describeSample('signing in to the embedded service with a real browser, without JavaScript', 1, function () {
  // axe-core checks each page in both color schemes.
  this.timeout(300_000)

  const browser = startChromium()
  const sandbox = perTest(createSandbox)
  const service = perTest(() => runService(sandbox))
  beforeEach(async () => {
    await createUser(sandbox, service.url, person)
  })

  it('works for auth login, a request, and auth logout', async () => {
    const { login, page, complaints } = await beginLogin({})
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await take(page, 'service-sign-in')
    await page.getByLabel('Email').fill(person.email)
    await page.getByLabel('Password').fill('wrong horse')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('alert').waitFor()
    await take(page, 'service-sign-in-wrong')
    await signIn(page)
    await page.getByRole('heading', { name: 'Allow chatctl to use your account?' }).waitFor()
    await take(page, 'service-consent')
    await page.getByRole('button', { name: 'Allow' }).click()
    await page.getByRole('heading', { name: 'Signed in', exact: true }).waitFor()
    const { exitCode, stderr } = await login.ended
    expect(exitCode, stderr).to.equal(0)
    // The browser reports that a response had status 400.
    expect(complaints.filter((text) => !text.includes('status of 400'))).to.deep.equal([])
    const profile = await runProgram(sandbox, ['users', 'profile', '--jq', '.email'])
    expect(profile.stdout, profile.stderr).to.equal(`${person.email}\n`)
    const listed = await runProgram(sandbox, ['service', 'sessions', 'list', '--jq', '[.[].kind]'])
    expect(JSON.parse(listed.stdout)).to.have.members(['browser', 'program'])
    const token = (await runProgram(sandbox, ['auth', 'token'])).stdout.trim()
    const logout = await runProgram(sandbox, ['auth', 'logout', '--jq', '.[].revoked'])
    expect(logout.stdout, logout.stderr).to.equal('true\n')
    const refused = await fetch(`${service.url}/api/user/profile`, {
      headers: { authorization: `Bearer ${token}` },
    })
    expect(refused.status).to.equal(401)
    await page.context().close()
  })

  it('shows the account, and requires a second factor once it is enabled', async () => {
    const context = await open({})
    const page = await context.newPage()
    await page.goto(`${service.url}/account`)
    await signIn(page)
    await page.getByRole('heading', { name: 'Your account' }).waitFor()
    const factor = page.getByRole('region', { name: 'Second factor' })
    await factor.getByLabel('Current password').fill(person.password)
    await page.getByRole('button', { name: 'Turn on' }).click()
    const secret = (await page.locator('code').textContent())?.replaceAll(' ', '') ?? ''
    await take(page, 'service-account-factor')
    const totp = new TOTP({ secret: Secret.fromBase32(secret) })
    await page.getByLabel('Code', { exact: true }).fill(totp.generate())
    await page.getByRole('button', { name: 'Turn on' }).click()
    await page.getByText('The second factor is on.').waitFor()
    await take(page, 'service-account')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Signed out' }).waitFor()
    await take(page, 'service-signed-out')
    await page.goto(`${service.url}/account`)
    await signIn(page)
    await page.getByRole('heading', { name: 'Enter your code' }).waitFor()
    await take(page, 'service-code')
    // The code of this time step is already used. That of the next step is accepted early.
    await page.getByLabel('Code', { exact: true }).fill(totp.generate({ timestamp: Date.now() + 30_000 }))
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('heading', { name: 'Your account' }).waitFor()
    await context.close()
  })

  it('fits a narrow screen of 360 pixels', async () => {
    const context = await open({ viewport: { width: 360, height: 740 } })
    const page = await context.newPage()
    await page.goto(`${service.url}/account`)
    await take(page, 'service-sign-in-narrow')
    await signIn(page)
    await page.getByRole('heading', { name: 'Your account' }).waitFor()
    await take(page, 'service-account-narrow')
    expect(await scrollsSideways(page)).to.equal(false)
    await page.goto(`${service.url}/oauth/authorize?client_id=nobody`)
    await page.getByRole('heading', { name: 'Sign-in failed' }).waitFor()
    await take(page, 'service-error-narrow')
    await context.close()
  })

  it('allows a program on another device while auth login --device polls', async () => {
    const { login, code } = await beginDeviceLogin()
    const context = await open({ viewport: { width: 360, height: 740 } })
    const page = await context.newPage()
    await page.goto(code.verification_uri_complete)
    await signIn(page)
    await page.getByRole('heading', { name: 'Sign in a program' }).waitFor()
    expect(await page.getByLabel('Code').inputValue()).to.equal(code.user_code)
    await page.getByLabel('Code').fill('BBBB-BBBB')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('alert').waitFor()
    await take(page, 'service-device-code')
    await page.getByLabel('Code').fill(code.user_code.toLowerCase())
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('heading', { name: 'Allow chatctl to use your account?' }).waitFor()
    await page.getByText(code.user_code).waitFor()
    await take(page, 'service-device-consent')
    expect(await scrollsSideways(page)).to.equal(false)
    await page.getByRole('button', { name: 'Allow' }).click()
    await page.getByRole('heading', { name: 'Allowed' }).waitFor()
    await take(page, 'service-device-allowed')
    const { exitCode, stderr } = await login.ended
    expect(exitCode, stderr).to.equal(0)
    const profile = await runProgram(sandbox, ['users', 'profile', '--jq', '.email'])
    expect(profile.stdout, profile.stderr).to.equal(`${person.email}\n`)
    await context.close()
  })

  it('ends auth login --device if the user cancels, and offers another account', async () => {
    const { login, code } = await beginDeviceLogin()
    const context = await open({})
    const page = await context.newPage()
    await page.goto(code.verification_uri)
    await signIn(page)
    await page.getByRole('link', { name: 'Use another account' }).click()
    await signIn(page)
    await page.getByLabel('Code').fill(code.user_code)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('heading', { name: 'Canceled' }).waitFor()
    const { exitCode, stderr } = await login.ended
    expect(exitCode, stderr).to.equal(4)
    expect(stderr).to.include('The user denied the request')
    await context.close()
  })

  /** Runs `auth login --device`, as a script does. */
  async function beginDeviceLogin() {
    const flags = ['--device', '--json', '--base-url', service.url, '--insecure-storage']
    const login = startBuiltLogin(sandbox, flags, { stdin: '', timeout: 100_000 })
    const [line] = await once(createInterface({ input: login.child.stdout as Readable }), 'line')
    const code: Record<'user_code' | 'verification_uri' | 'verification_uri_complete', string> =
      JSON.parse(line)
    return { login, code }
  }

  type Look = Parameters<Browser['newContext']>[0]

  const open = (look: Look): Promise<BrowserContext> =>
    browser.newContext({ javaScriptEnabled: false, viewport: { width: 1000, height: 760 }, ...look })

  /** Runs `auth login` with only the base URL, and opens the page in the browser. */
  async function beginLogin(look: Look, more: string[] = []) {
    const program = createFakeBrowser(sandbox)
    const flags = ['--base-url', service.url, '--insecure-storage', ...more]
    const login = startBuiltLogin(sandbox, flags, { stdin: '', env: program.env, timeout: 100_000 })
    const page = await (await open(look)).newPage()
    const complaints: string[] = []
    page.on('console', (message) => complaints.push(message.text()))
    await page.goto(await program.opened())
    return { login, page, complaints }
  }
})

async function signIn(page: Page): Promise<void> {
  await page.getByLabel('Email').fill(person.email)
  await page.getByLabel('Password').fill(person.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

/** Evaluated in an isolated world, in which JavaScript works although the page has none. */
const scrollsSideways = (page: Page): Promise<boolean> =>
  page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth')
