import { mkdirSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { type Browser, chromium } from 'playwright-core'
import { withService } from '../../service/temporary-service.ts'
import { findPageFaults } from '../page-faults.ts'

/** For a person to look at. */
const screenshots = join(tmpdir(), 'chatctl-screenshots')

describe('the status page in a real browser', () => {
  let browser: Browser
  before(async () => {
    mkdirSync(screenshots, { recursive: true })
    const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium'
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  })
  after(() => browser?.close())

  for (const colorScheme of ['light', 'dark'] as const) {
    for (const [name, width] of [
      ['desk', 1000],
      ['phone', 360],
    ] as const) {
      it(`is complete without JavaScript, ${colorScheme}, on a ${name}`, () =>
        withService(
          async ({ url }) => {
            const context = await browser.newContext({
              colorScheme,
              viewport: { width, height: 760 },
              javaScriptEnabled: false,
            })
            const page = await context.newPage()
            const complaints: string[] = []
            const requested: string[] = []
            page.on('console', (message) => complaints.push(message.text()))
            page.on('request', (request) => requested.push(request.url()))
            await page.goto(url)
            await page.getByRole('heading', { name: 'Chat service', exact: true }).waitFor()
            expect(await page.getByRole('status').textContent()).to.equal('Ready')
            expect(await page.locator('pre').first().textContent()).to.match(new RegExp(`--base-url ${url}$`))
            // Shows that the policy allows the style, and that nothing is wider than the window.
            const card = await page.locator('main').boundingBox()
            expect(card?.width).to.be.within(300, 608)
            const ground = await page.screenshot({
              path: join(screenshots, `status-${name}-${colorScheme}.png`),
              fullPage: true,
            })
            expect(statSync(join(screenshots, `status-${name}-${colorScheme}.png`)).size).to.be.above(2_000)
            expect(ground.length).to.be.above(2_000)
            expect(complaints.filter((text) => !text.includes('favicon'))).to.deep.equal([])
            expect(requested.filter((each) => !each.endsWith('/favicon.ico'))).to.deep.equal([`${url}/`])
            expect(await findPageFaults(page)).to.deep.equal([])
            await context.close()
          },
          { version: '1.2.3' },
        ))
    }
  }
})
