import axe from 'axe-core'
import { HtmlValidate } from 'html-validate'
import type { Page } from 'playwright-core'

const validator = new HtmlValidate({
  extends: ['html-validate:standard'],
  // A character reference that HTML does not define, such as `&x;`, is shown as written (HTML, section 13.5).
  rules: { 'unrecognized-char-ref': 'off' },
})

/** The faults that html-validate finds in a page. */
export async function findHtmlFaults(html: string): Promise<string[]> {
  const { results } = await validator.validateString(html)
  return results.flatMap(({ messages }) => messages.map(({ ruleId, message }) => `${ruleId}: ${message}`))
}

interface Violation {
  id: string
  nodes: { html: string }[]
}

/**
 * The faults that axe-core and html-validate find in a page as it is shown. axe needs JavaScript,
 * which the tests of our pages disable, so it checks a copy of the page in a context that has it.
 */
export async function findPageFaults(page: Page): Promise<string[]> {
  const html = await page.content()
  const isDark = await page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
  const browser = page.context().browser()
  if (!browser) throw new Error('the page belongs to no browser')
  const context = await browser.newContext({
    colorScheme: isDark ? 'dark' : 'light',
    viewport: page.viewportSize(),
  })
  try {
    const copy = await context.newPage()
    await copy.setContent(html)
    await copy.evaluate(`${axe.source};0`)
    const run = 'axe.run().then(({ violations }) => violations)'
    const violations = (await copy.evaluate(run)) as Violation[]
    const found = violations.flatMap(({ id, nodes }) =>
      nodes.map((node) => `axe: ${id}: ${node.html.slice(0, 200)}`),
    )
    return [...found, ...(await findHtmlFaults(html))]
  } finally {
    await context.close()
  }
}
