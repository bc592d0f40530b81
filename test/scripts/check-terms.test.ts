import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { findTerms, listPaths, readTerms } from '../../scripts/check-terms.ts'
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
