import { expect } from 'chai'
import { lexer } from 'marked'
import { htmlDocument } from '../../src/history/html-document.ts'
import { markdownDocument } from '../../src/history/markdown-document.ts'
import { hostileTexts } from './hostile-texts.ts'

const message = (content: unknown, more = {}) =>
  ({ role: 'user', created_at: '2026-01-02T03:04:05Z', ...more, content }) as never

describe('an export as Markdown', () => {
  it('has a heading for each message, and its text in a quotation', () => {
    const text =
      markdownDocument.head('Conversation c1') +
      markdownDocument.message(message('Hello\n\n**you**\r\nthere'))
    expect(text).to.equal(
      '# Conversation c1\n\n## user · 2026-01-02 03:04:05 UTC\n\n> Hello\n>\n> **you**\n> there\n',
    )
  })

  it('keeps its structure, whatever the messages contain', () => {
    const document = hostileTexts.map((text) => markdownDocument.message(message(text))).join('')
    // Without the nested and the huge texts, for which the parser of this test takes long.
    const short = hostileTexts.filter((text) => text.length < 2_000)
    const tokens = lexer(short.map((text) => markdownDocument.message(message(text))).join(''))
    const top = tokens.filter(({ type }) => type !== 'space').map(({ type }) => type)
    expect(top).to.deep.equal(short.flatMap(() => ['heading', 'blockquote']))
    expect(document.match(/^## user · 2026-01-02 03:04:05 UTC$/gm)).to.have.lengthOf(hostileTexts.length)
  })

  it('contains no markup from a role, a time, or a name', () => {
    const odd = message('x', { role: 'user\n# <b>[a](b)', created_at: '`now`' })
    expect(markdownDocument.message(odd)).to.equal('\n## user \\# \\<b\\>\\[a\\](b) · \\`now\\`\n\n> x\n')
    expect(markdownDocument.head('Conversation *c*\n# d')).to.equal('# Conversation \\*c\\* \\# d\n')
  })
})

describe('an export as HTML', () => {
  const tags =
    /<(?!\/?(?:article|header|h[2-6]|time|div|p|a|code|pre|ul|ol|li|blockquote|em|strong|del|br|hr|table|thead|tbody|tr|th|td)[ >])/

  const reply = (content: unknown, more = {}) => message(content, { role: 'assistant', ...more })

  it('shows what a person wrote as it was written', () => {
    const text = '__init__.py *glob*.txt\n\n\n  # <b> & [a](http://b.example)\n    if (x):\n\treturn  '
    for (const role of ['user', 'system']) {
      const [, shown] =
        />\n<div class="content verbatim" dir="auto">(.*?)<\/div>\n<\/article>/s.exec(
          htmlDocument.message(message(text, { role })),
        ) ?? []
      expect(shown).to.equal(text.replace('<b>', '&lt;b&gt;').replace(' & ', ' &amp; '))
    }
    expect(htmlDocument.head('Conversation c1')).to.match(/\.verbatim {[^}]*white-space: pre-wrap/)
  })

  it('has only known elements, and only links to the web and to mail addresses', () => {
    for (const [text, role] of hostileTexts.flatMap(
      (hostile) =>
        [
          [hostile, 'user'],
          [hostile, 'assistant'],
        ] as const,
    )) {
      const html = htmlDocument.message(message(text, { role }))
      expect(tags.exec(html)?.index, text.slice(0, 80)).to.equal(undefined)
      for (const [, href = ''] of html.matchAll(/ href="([^"]*)"/g))
        expect(href).to.match(/^(https?:\/\/|mailto:)/i)
      expect(html).not.to.match(/<[^>]*\s(on\w+|style|src|srcset)=/i)
      expect(html.match(/<article /g)).to.have.lengthOf(1)
    }
  })

  it('renders Markdown', () => {
    const html = htmlDocument.message(
      reply('# A\n\n**b** `c<` [d](https://e.example/?f=1&g=2)\n\n```js\nh < 1\n```\n\n- [x] i'),
    )
    expect(html).to.contain('<h3>A</h3>')
    expect(html).to.contain('<strong>b</strong> <code>c&lt;</code>')
    expect(html).to.contain(
      '<a href="https://e.example/?f=1&amp;g=2" rel="noopener noreferrer nofollow">d</a>',
    )
    expect(html).to.contain('<pre tabindex="0"><code>h &lt; 1\n</code></pre>')
    expect(html).to.contain('☑ i')
  })

  it('shows the address of a link whose text looks like another one', () => {
    const html = (text: string) => htmlDocument.message(reply(text))
    const labels = ['http://good.example', '**www.good.example**', '**http**://good', 'good.example/login']
    for (const label of [...labels, 'good.example', 'https&colon;&sol;&sol;good', 'http&#58;//good'])
      for (const mark of ['', '!'])
        expect(html(`${mark}[${label}](http://evil.example/)`)).to.contain('</a> (http://evil.example/)')
    expect(html('[good](http://evil.example/)')).not.to.contain('</a> (')
    const linked = '[good.example](https://good.example)'
    for (const own of ['<http://good.example/a?b&c>', 'www.good.example', '<ada@good.example>', linked])
      expect(html(own)).to.contain('<a href').and.not.to.contain('</a> (')
  })

  it('renders the Markdown before and after a long line of dashes', () => {
    const line = '-'.repeat(80)
    const html = htmlDocument.message(
      reply(`**a**\n\n${line}\n\n| b | c |\n|${line}|--|\n| d | e |\n\n- - ${line}`),
    )
    expect(html).to.contain('<strong>a</strong>').and.to.contain('<hr>').and.to.contain('<td>d</td>')
    expect(html).not.to.contain('class="raw"')
  })

  it('shows a message that is nested too deeply as text', () => {
    const html = htmlDocument.message(reply(`**a**\n\n${'> '.repeat(5_000)}deep`))
    expect(html).to.contain('<pre class="raw" tabindex="0">**a**')
  })

  it('renders an underlined heading, also in a list item', () => {
    const html = htmlDocument.message(reply('Title\nof two lines\n===\n\n- item\n\n  Inner\n  ---'))
    expect(html).to.contain('<h3>Title\nof two lines</h3>').and.to.contain('<h4>Inner</h4>')
  })

  it('has no empty headings, and no gaps in heading levels', () => {
    const html = htmlDocument.message(
      reply('#\n\n#### a\n\n###### b\n\n## c\n\n> ##### d\n\n# [](x)\n\n# e\n\n## \n'),
    )
    const headings = [...html.matchAll(/<h([1-6])[^>]*>([^<]*)/g)].map(
      ([, level, text]) => `${level} ${text}`,
    )
    expect(headings).to.deep.equal(['2 assistant', '3 a', '4 b', '3 c', '4 d', '3 e'])
  })

  it('lets the keyboard reach everything that scrolls', () => {
    const html = htmlDocument.message(reply('```\ncode\n```\n\n| a |\n|--|\n| b |'))
    expect(html.match(/<pre /g)).to.have.length(1)
    expect(html)
      .to.match(/<pre tabindex="0">/)
      .and.to.match(/<div class="table"[^>]* tabindex="0">/)
    expect(htmlDocument.message(reply('a'.repeat(200_000)))).to.match(/<pre class="raw" tabindex="0">/)
  })

  it('shows content that is not text, and messages without fields', () => {
    expect(htmlDocument.message(reply({ parts: ['<b>'] }))).to.contain('&lt;b&gt;')
    expect(htmlDocument.message({})).to.contain('unknown')
    expect(htmlDocument.message(reply('x', { created_at: '<i>' }))).to.contain('&lt;i&gt;')
  })
})
