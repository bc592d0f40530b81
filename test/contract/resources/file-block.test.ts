import { expect } from 'chai'
import * as fc from 'fast-check'
import { joinFiles, splitFiles } from '../../../src/contract/resources/file-block.ts'
import { codePoint } from '../../support/code-point.ts'
import { forAll } from '../../support/for-all.ts'

/** Texts that are likely to contain fences, labels, and line breaks of all kinds. */
const text = fc.oneof(
  fc.string({ unit: codePoint }),
  fc
    .array(
      fc.constantFrom(
        ...['`', '```', '````', '~~~', '\n', '\r\n', '\r', ' ', 'a', 'File: a.ts\n\n```ts\n', '"', '\u2028'],
      ),
    )
    .map((parts) => parts.join('')),
)
const name = fc.oneof(
  fc.string({ minLength: 1 }),
  text.filter((one) => one !== ''),
)
const files = fc.array(fc.record({ name, content: text }), { maxLength: 4 })

describe('a message with files', () => {
  it('has a labeled code block for each file, and then the text', () => {
    const message = joinFiles({
      files: [
        { name: 'src/hello.ts', content: "console.log('Hello')\n" },
        { name: 'Makefile', content: 'all:' },
      ],
      text: 'Review these',
    })
    expect(message).to.equal(
      [
        ...['File: src/hello.ts', '', '```ts', "console.log('Hello')", '```', ''],
        ...['File without a final newline: Makefile', '', '```', 'all:', '```', '', 'Review these'],
      ].join('\n'),
    )
  })

  for (const [title, name, content, block] of [
    ['has a fence longer than any in the file', 'a.md', '````\n', 'File: a.md\n\n`````md\n````\n`````'],
    ['has no line for an empty file', 'empty', '', 'File: empty\n\n```\n```'],
    ['keeps carriage returns', 'a.txt', 'a\r\n', 'File: a.txt\n\n```txt\na\r\n```'],
    ['keeps spaces and Unicode in a name', 'my café.md', '\n', 'File: my café.md\n\n```md\n\n```'],
    ['quotes a name with a line break', 'a\n```\nb', 'x\n', 'File: "a\\n```\\nb"\n\n```\nx\n```'],
    ['has no language for a hidden file', 'dir/.env', 'x\n', 'File: dir/.env\n\n```\nx\n```'],
    ['has the file extension in lower case as language', 'A.PY', 'x\n', 'File: A.PY\n\n```py\nx\n```'],
  ] as const)
    it(title, () => {
      expect(joinFiles({ files: [{ name, content }], text: '' })).to.equal(block)
      expect(splitFiles(block)).to.deep.equal({ files: [{ name, content }], text: '' })
    })

  it('contains the exact name and content of each file', () =>
    forAll(files, (all) => {
      const parts = { files: all, text: 'Review these' }
      expect(splitFiles(joinFiles(parts))).to.deep.equal(parts)
      expect(splitFiles(joinFiles({ files: all, text: '' }))).to.deep.equal({ files: all, text: '' })
    }))

  it('is unchanged if it is split and joined again', () => {
    const isUnchanged = (message: string) => {
      expect(joinFiles(splitFiles(message))).to.equal(message)
    }
    forAll(text, isUnchanged)
    forAll(files, text, (all, last) => isUnchanged(joinFiles({ files: all, text: last })))
  })
})
