import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { closeDocument, html, openDocument, renderPage } from '../../src/pages/page.ts'

const hashOfStyle = (document: string): string => {
  const style = /<style>([\s\S]*)<\/style>/.exec(document)?.[1] ?? ''
  return `'sha256-${createHash('sha256').update(style).digest('base64')}'`
}

describe('a page', () => {
  const options = { status: 200, title: '<T>', style: 'p{margin:0}', content: html`<p>x</p>` }

  it('escapes its title, and contains its class, content, and footer', () => {
    const { body } = renderPage({ ...options, className: 'wide', footer: 'a & b' })
    expect(body).to.match(/^<!doctype html>\n<html lang="en">/)
    expect(body).to.contain('<title>&lt;T&gt; · chatctl</title>')
    expect(body).to.contain('<main class="wide">\n<p>x</p>\n<footer>a &amp; b</footer>\n</main>')
  })

  it('allows its own style, and nothing else', () => {
    const { headers, body } = renderPage(options)
    expect(body).to.contain('p{margin:0}')
    expect(headers['content-security-policy']).to.equal(
      `default-src 'none'; style-src ${hashOfStyle(body)}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    )
  })

  it('allows forms to be sent only to the given targets', () => {
    const { headers } = renderPage({ ...options, formAction: "'self' http:" })
    expect(headers['content-security-policy']).to.match(/; form-action 'self' http:; frame-ancestors 'none'$/)
  })

  it('is not stored, framed, or sniffed for its type, and sends no referrer', () => {
    const { headers, body } = renderPage(options)
    expect(headers).to.include({
      'content-type': 'text/html; charset=utf-8',
      'content-length': String(Buffer.byteLength(body)),
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'cross-origin-opener-policy': 'same-origin',
    })
    expect(renderPage({ ...options, headers: { 'referrer-policy': 'same-origin' } }).headers).to.include({
      'referrer-policy': 'same-origin',
    })
  })
})

describe('an HTML file', () => {
  it('contains its security policy before everything that the policy governs', () => {
    const document = openDocument({ title: 'T', style: 'p{}', isFile: true }) + closeDocument
    const policy = `default-src 'none'; style-src ${hashOfStyle(document)}; base-uri 'none'; form-action 'none'`
    expect(document).to.match(/<head>\n<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy"/)
    expect(document).to.contain(`<meta http-equiv="Content-Security-Policy" content="${policy}">`)
    expect(document).to.contain('<meta name="referrer" content="no-referrer">')
    expect(document).not.to.contain('noindex')
  })
})
