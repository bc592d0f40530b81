import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { findLongSentences, findTerms, listPaths, readTerms } from '../../scripts/check-terms.ts'
import { root } from './package-file.ts'

const table = `# Style

| use | avoid | except |
|---|---|---|
| directory | folder/folders | drop folder |
| omit | leave/leaves out, unless said | |
`
const find = (text: string) => findTerms(text, readTerms(table))

describe('check-terms', () => {
  it('reports each term with its line and its replacement', () => {
    expect(find('One line\nThe Folder of\nthe user leaves out')).to.deep.equal([
      { line: 2, found: 'Folder', use: 'directory' },
      { line: 3, found: 'leaves out', use: 'omit' },
    ])
  })

  it('finds a phrase that continues on the next line of a comment, a quotation, or a paragraph', () => {
    for (const text of [
      '/**\n   * Leave\n   * out\n',
      '// leave\n  // out',
      '> leave\n> out',
      'leave\nout',
    ]) {
      expect(find(text), text).to.have.length(1)
    }
  })

  it('finds a word in a camelCase name, and not within another word', () => {
    expect(find('const #homeFolder = foldersOf(folder_name)').map(({ found }) => found)).to.deep.equal([
      'Folder',
      'folders',
      'folder',
    ])
    expect(find('folderol, subfolderish, bifolder')).to.deep.equal([])
  })

  it('accepts a term in a phrase of the third column', () => {
    expect(find('a drop\n// folder, or a drop folder,\na folder').map(({ line }) => line)).to.deep.equal([3])
  })

  it('reports each sentence of more than 30 words, with its line and its number of words', () => {
    const words = (count: number) => 'word '.repeat(count)
    const allowed = `${words(29)}end. ${words(28)}\`a b c\` “a b c”`
    for (const text of [
      allowed,
      `| ${allowed} | ${allowed} |`,
      `- ${allowed}\n- ${allowed}`,
      `    ${words(40)}`,
    ])
      expect(findLongSentences(`# Title\n\n${text}\n`), text).to.deep.equal([])
    expect(findLongSentences(`Short.\n\n${words(20)}\n${words(10)}end. Short.`)).to.deep.equal([
      { line: 3, found: 'word word word word word word …', use: 'at most 30 words, not 31' },
    ])
  })

  it('reads every row of docs/style.md, and finds each of its terms', () => {
    const guide = readFileSync(join(root, 'docs/style.md'), 'utf8')
    const terms = readTerms(guide)
    const phrases = guide
      .split('|---|---|---|\n')[1]
      ?.split('\n')
      .flatMap((row) => row.split('|')[2]?.split(',') ?? [])
      .map((phrase) => phrase.trim().replace(/\/\S+/g, ''))
    expect(phrases).to.have.length(terms.length).and.length.above(60)
    for (const phrase of phrases ?? []) expect(findTerms(phrase, terms), phrase).not.to.be.empty
  })

  it('fails if no file matches', () => {
    expect(() => listPaths(root, ['no-such-directory/**'], [])).to.throw('no-such-directory/**')
    expect(() => listPaths(root, ['LICENSE'], ['LICENSE'])).to.throw('No file matches LICENSE')
  })
})
