import { expect } from 'chai'
// @ts-expect-error: the package has no types.
import specification from 'commonmark-spec'
import { HtmlValidate } from 'html-validate'
import { renderCallbackPage } from '../../src/auth/callback-page.ts'
import { htmlDocument } from '../../src/history/html-document.ts'
import { renderStatusPage } from '../../src/service/http/public/status-page.ts'
import { hostileTexts } from '../history/hostile-texts.ts'

const validator = new HtmlValidate({
  extends: ['html-validate:standard'],
  // A character reference that HTML does not define, such as `&x;`, is shown as written (HTML, section 13.5).
  rules: { 'unrecognized-char-ref': 'off' },
})

async function faultsOf(html: string): Promise<string[]> {
  const { results } = await validator.validateString(html)
  return results.flatMap(({ messages }) => messages.map(({ line, message }) => `${line}: ${message}`))
}

describe('html-validate', () => {
  it('reports no error in an HTML export of hostile messages and of the CommonMark examples', async () => {
    const { tests } = specification as { tests: { markdown: string }[] }
    const contents = [...hostileTexts, ...tests.map(({ markdown }) => markdown)]
    const messages = contents.map((content) => htmlDocument.message({ role: 'assistant', content }))
    expect(
      await faultsOf(htmlDocument.head('Conversation c1') + messages.join('') + htmlDocument.tail()),
    ).to.deep.equal([])
  })

  for (const name of ['signed-in', 'not-signed-in', 'not-expected'] as const) {
    it(`reports no error on the callback page "${name}"`, async () => {
      expect(await faultsOf(renderCallbackPage(name).body)).to.deep.equal([])
    })
  }

  for (const isReady of [true, false]) {
    it(`reports no error on the status page of a service that is ${isReady ? 'ready' : 'not ready'}`, async () => {
      const { body } = renderStatusPage({ version: '1.2.3', url: 'http://127.0.0.1:8080', isReady })
      expect(await faultsOf(body)).to.deep.equal([])
    })
  }
})
