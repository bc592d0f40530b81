import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { exportEnvironment } from '../history/export-run.ts'
import { hostileTexts } from '../history/hostile-texts.ts'
import { perSuite } from '../support/lifetime.ts'
import { runProgram } from '../support/run-program.ts'
import { createSandbox } from '../support/sandbox.ts'
import { json, startScriptedServer } from '../support/scripted-server.ts'
import { describeSample } from '../support/take-sample.ts'
import { screenshots, startChromium, take } from './chromium.ts'

const answer = `Some **bold** and \`code\`, a [link](https://example.org/) and a list:

1. one
2. two

\`\`\`ts
const wide = 'a line of code that is far wider than any phone and scrolls in itself, and not with the page'
\`\`\`

| name | value |
|---|--:|
| a | 1 |
`

const messages = ['How is this done?', answer, ...hostileTexts].map((content, index) => ({
  id: `m${index}`,
  content,
  role: ['user', 'assistant', 'system', 'tool'][index % 4],
  created_at: new Date(Date.UTC(2026, 0, 1, 0, index)).toISOString(),
}))

describeSample('an exported page in a real browser', 1, function () {
  // axe-core checks each page in both color schemes.
  this.timeout(300_000)

  const browser = startChromium()
  const server = perSuite(() => startScriptedServer(json(200, { messages, has_more: false })))
  const sandbox = perSuite(createSandbox)
  let path: string
  before(async () => {
    path = join(sandbox.home, 'history.html')
    const run = await runProgram(sandbox, ['history', 'export', '--to', path], {
      env: exportEnvironment(server.url),
    })
    expect(run.exitCode, run.stderr).to.equal(0)
  })

  async function open(colorScheme: 'light' | 'dark' = 'light') {
    const context = await browser.newContext({ colorScheme, viewport: { width: 1000, height: 800 } })
    const page = await context.newPage()
    const requested: string[] = []
    const complaints: string[] = []
    page.on('request', (request) => requested.push(request.url()))
    page.on('console', (message) => complaints.push(message.text()))
    page.on('dialog', (dialog) => void dialog.dismiss())
    await page.goto(pathToFileURL(path).href)
    await page.waitForLoadState('networkidle')
    return { page, requested, complaints, close: () => context.close() }
  }

  const styleOf = (page: Page, selector: string, property: string) =>
    page.evaluate(`getComputedStyle(document.querySelector(${JSON.stringify(selector)})).${property}`)

  const count = (page: Page, selector: string) => page.locator(selector).count()

  it('runs nothing and loads nothing, whatever the messages contain', async () => {
    const { page, requested, complaints, close } = await open()
    expect(await page.title()).to.equal('Chat history')
    expect(requested).to.deep.equal([page.url()])
    // The policy did not have to block anything either.
    expect(complaints).to.deep.equal([])
    expect(await count(page, 'script, img, iframe, svg, link, form, input, object, embed, base')).to.equal(0)
    expect(await count(page, 'main > article')).to.equal(messages.length)
    expect(await count(page, 'article article')).to.equal(0)
    for (const link of await page.locator('a').all())
      expect(await link.getAttribute('href')).to.match(/^(https?|mailto):/)
    await close()
  })

  it('fits a phone and a desk, and long code scrolls separately', async () => {
    const { page, close } = await open()
    for (const width of [360, 1000]) {
      await page.setViewportSize({ width, height: 800 })
      const size = 'document.documentElement.scrollWidth'
      expect(await page.evaluate(size)).to.equal(width)
      for (const article of await page.locator('article').all()) {
        await article.scrollIntoViewIfNeeded()
        expect(await page.evaluate(size)).to.equal(width)
      }
      const code = "document.querySelector('article:nth-of-type(2) pre')"
      if (width === 360)
        expect(await page.evaluate(`${code}.scrollWidth > ${code}.clientWidth`)).to.equal(true)
      await page.evaluate('scrollTo(0, 0)')
      await take(page, `export-${width}`, false)
    }
    await close()
  })

  it('is printed in black on white, with long code wrapped', async () => {
    const { page, close } = await open('dark')
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
    expect(await styleOf(page, 'body', 'color')).to.equal('rgb(0, 0, 0)')
    expect(await styleOf(page, 'article:nth-of-type(2) pre', 'whiteSpace')).to.equal('pre-wrap')
    const pdf = join(screenshots, 'export.pdf')
    await page.pdf({ path: pdf, format: 'A4' })
    expect(statSync(pdf).size).to.be.above(10_000)
    expect(readFileSync(pdf).subarray(0, 5).toString()).to.equal('%PDF-')
    await close()
  })
})
