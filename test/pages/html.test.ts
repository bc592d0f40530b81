import { expect } from 'chai'
import { escapeHtml, Html, html } from '../../src/pages/page.ts'

describe('an HTML template', () => {
  it('escapes text for content and for quoted attributes', () =>
    expect(escapeHtml(`<a href="x" id='y'>&amp;\0`)).to.equal(
      '&lt;a href=&quot;x&quot; id=&#39;y&#39;&gt;&amp;amp;\uFFFD',
    ))

  it('escapes text in markup, also in a list, and inserts markup unchanged', () => {
    const { text } = html`<p title="${'"'}">${'<b>'}${1}${new Html('<br>')}${[html`<i>${'&'}</i>`, '<']}</p>`
    expect(text).to.equal('<p title="&quot;">&lt;b&gt;1<br><i>&amp;</i>&lt;</p>')
  })

  it('omits values that are false or undefined', () =>
    expect(html`<p>${false}${undefined}${''}</p>`.text).to.equal('<p></p>'))
})
