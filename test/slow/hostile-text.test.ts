import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect } from 'chai'

/**
 * Texts of 1 MB on which code with backtracking takes minutes. They are read in another process, which is killed
 * if it hangs.
 */

const source = join(import.meta.dirname, '../../src')
const size = 1_000_000
const run = (text: string) => text.repeat(Math.ceil(size / text.length))
const render = `new m.MarkdownWriter({ columns: 80, style: plainStyle, highlight: await loadHighlight() }).push(text)`

/** By what reads the text: a module, an expression over its exports `m`, and the text `text`. */
const cases: [reader: string, module: string, expression: string, text: string][] = [
  ['a JSON number', 'contract/notation/exact-json.ts', 'm.canonicalJson(m.parseJson(text))', `1${run('0')}1`],
  [
    'an integer of a command line',
    'contract/notation/text-value.ts',
    `m.parseValue('integer', text)`,
    `${run('0')}x`,
  ],
  ['a URL whose secrets are hidden', 'contract/secret-fields.ts', 'm.hideSecrets(text)', `a://${run(':')}`],
  [
    'a field of a trace',
    'contract/secret-fields.ts',
    'm.hideSecretFields(text, String)',
    `{"a":"${run('\\')}`,
  ],
  ['a block of a file', 'contract/resources/file-block.ts', 'm.splitFiles(text)', `File: a\n\n${run('`')}`],
  ['the end of an address', 'contract/notation/text.ts', `m.withoutTrailing(text, '/')`, `${run('/')}x`],
  [
    'a message that is exported as Markdown',
    'history/markdown-document.ts',
    `m.markdownDocument.message({ role: 'user', content: text })`,
    `${run('\n')}x`,
  ],
  [
    'a header of rate limits',
    'client/response/rate-limit-headers.ts',
    'Object.values(m).map((f) => attempt(f, new Headers({ "x-ratelimit-reset": text })))',
    run('1'),
  ],
  ['a message that is searched', 'history/search-query.ts', 'm.indexedText(text)', run('\u00e9\u0e01\u0301')],
  ['a reply of short lines', 'terminal/markdown/markdown-writer.ts', render, run('`\n')],
  [
    'a reply with long lines of code',
    'terminal/markdown/markdown-writer.ts',
    render,
    `\`\`\`markdown\n${run(`${'[]('.repeat(500)}\n`)}`,
  ],
  [
    'a path that is completed',
    'chat/attachments.ts',
    `m.completeMention(text, { cwd: '/', env: {} })`,
    `${run('(@')} x`,
  ],
]

describe('a hostile text of 1 MB', () => {
  for (const [reader, module, expression, text] of cases) {
    it(`does not block ${reader}`, () => {
      const code = `
        import { readFileSync } from 'node:fs'
        import * as m from ${JSON.stringify(join(source, module))}
        import { plainStyle } from ${JSON.stringify(join(source, 'terminal/markdown/text-style.ts'))}
        import { loadHighlight } from ${JSON.stringify(join(source, 'terminal/markdown/text-style.ts'))}
        const text = readFileSync(0, 'utf8')
        const attempt = async (act, ...given) => { try { await act(...given) } catch {} }
        // The reader may refuse the text. A TypeError means that it has another name now.
        await (async () => ${expression})().catch((error) => { if (error instanceof TypeError) throw error })
        console.log('done')`
      const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', code], {
        input: text,
        encoding: 'utf8',
        timeout: 20_000,
      })
      expect(stdout, stderr).to.equal('done\n')
    })
  }
})
