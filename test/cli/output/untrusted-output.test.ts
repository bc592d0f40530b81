import { expect } from 'chai'
import { copyText } from '../../../src/chat/slash/copy-and-save.ts'
import { renderResult } from '../../../src/cli/output/render-result.ts'
import { plainStyle } from '../../../src/terminal/markdown/text-style.ts'
import type { View } from '../../../src/view/format/view.ts'
import { renderMarkdown } from '../../terminal/render-markdown.ts'

const evil = '\u001b]0;title\u0007\u009b31m\u202e'

describe('untrusted output in a terminal', () => {
  const view: View = { layout: 'pairs', columns: [] }
  const bodies: [string, unknown][] = [
    ['the names of fields in a list', [{ [evil]: 1 }]],
    ['the names of fields', { [evil]: { [evil]: 1 } }],
    ['values', [{ a: evil }, { a: { [evil]: evil } }]],
    ['a bare text', evil],
  ]
  for (const [what, body] of bodies)
    it(`shows no control characters from ${what} in a table`, async () => {
      const shown = await renderResult(view, body, {
        format: 'table',
        fields: undefined,
        jq: undefined,
        loadColors: async () => ({ bold: String, dim: String, red: String, green: String }) as never,
        forTerminal: true,
        width: 80,
      })
      // biome-ignore lint/suspicious/noControlCharactersInRegex: the test searches for them
      expect(shown).not.to.match(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/)
      expect(shown).to.match(/title/i)
    })

  it('shows the real address of a link whose text is another address', () => {
    const link = (text: string, url: string): string => `{${text}|${url}}`
    const show = (text: string): string => renderMarkdown(text, { columns: 80, style: plainStyle, link })
    const plain = '[the manual](https://chat.example/manual) and https://chat.example/ or www.chat.example'
    expect(show(plain)).not.to.contain('(http')
    for (const shown of ['https://chat.example/', 'www.chat.example'])
      expect(show(`See [${shown}](https://evil.example/x) now.`)).to.contain(' (https://evil.example/x)')
  })

  describe('when it is copied', () => {
    it('cannot end a bracketed paste early', async () => {
      let written = ''
      const terminal = {
        write: (text: string) => {
          written += text
        },
      }
      // Makes copyText use the terminal (OSC 52), not a program of this machine.
      const env = { SSH_CONNECTION: 'somewhere' }
      await copyText('ls\u001b[201~\nrm -rf /\r\u0007', { terminal, env, platform: 'linux' })
      // biome-ignore lint/suspicious/noControlCharactersInRegex: the sequence OSC 52
      const [, encoded = ''] = /^\u001b\]52;c;([\w+/=]+)\u0007$/.exec(written) ?? []
      expect(Buffer.from(encoded, 'base64').toString()).to.equal('ls[201~\nrm -rf /')
    })
  })
})
