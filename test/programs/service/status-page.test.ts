import { expect } from 'chai'
import { withService } from '../../service/temporary-service.ts'
import { takeSample } from '../../support/take-sample.ts'
import { startChromium, take } from '../chromium.ts'

describe('the status page in a real browser', () => {
  const browser = startChromium()

  it('is complete without JavaScript, on a desk and on a phone', () =>
    withService(
      async ({ url }) => {
        for (const width of takeSample([1000, 360], 1).sample) {
          const viewport = { width, height: 760 }
          const context = await browser.newContext({ viewport, javaScriptEnabled: false })
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
          await take(page, `status-${width}`)
          expect(complaints.filter((text) => !text.includes('favicon'))).to.deep.equal([])
          expect(requested.filter((each) => !each.endsWith('/favicon.ico'))).to.deep.equal([`${url}/`])
          await context.close()
        }
      },
      { version: '1.2.3' },
    ))
})
