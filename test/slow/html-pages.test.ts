import { expect } from 'chai'
// @ts-expect-error: the package has no types.
import specification from 'commonmark-spec'
import { htmlDocument } from '../../src/history/html-document.ts'
import { renderStatusPage } from '../../src/service/http/public/status-page.ts'
import { hostileTexts } from '../history/hostile-texts.ts'
import { findHtmlFaults } from '../programs/page-faults.ts'

/** A real browser opens the other pages, in test/programs. */
describe('html-validate', () => {
  it('reports no error in an HTML export of hostile messages and of the CommonMark examples', async () => {
    const { tests } = specification as { tests: { markdown: string }[] }
    const contents = [...hostileTexts, ...tests.map(({ markdown }) => markdown)]
    const messages = contents.map((content) => htmlDocument.message({ role: 'assistant', content }))
    const page = htmlDocument.head('Conversation c1') + messages.join('') + htmlDocument.tail()
    expect(await findHtmlFaults(page)).to.deep.equal([])
  })

  it('reports no error on the status page of a service that is not ready', async () => {
    const { body } = renderStatusPage('http://127.0.0.1:8080', '1.2.3', false)
    expect(await findHtmlFaults(body)).to.deep.equal([])
  })
})
