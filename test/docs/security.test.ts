import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect } from 'chai'

const root = resolve(import.meta.dirname, '../..')
const text = readFileSync(join(root, 'docs/security.md'), 'utf8')

/** The citations of tests: a path in code font, then parts of titles in quotation marks. */
const named = [...text.matchAll(/`(test\/[\w/.-]+\.test\.ts)`((?:,? “[^”]+”)*)/g)].map(
  ([, path = '', titles = '']) => ({
    path,
    titles: [...titles.matchAll(/“([^”]+)”/g)].map(([, title = '']) => title),
  }),
)

describe('the threat model', () => {
  it('names a test for every covered threat', () => {
    const [covered = ''] = text.split('\n## What is not covered')
    const threats = covered.split('\n- ').slice(1)
    expect(threats.length).to.be.above(30)
    expect(threats.filter((threat) => !/`test\/[^`]+`,? “/.test(threat))).to.deep.equal([])
  })

  for (const { path, titles } of named) {
    for (const title of titles)
      it(`names a test that exists: ${path}, ${title}`, () => {
        expect(existsSync(join(root, path)), path).to.equal(true)
        const lines = readFileSync(join(root, path), 'utf8').split('\n')
        // A citation can be the constant part of a title that has an expression.
        const isTitle = (line: string) =>
          /\b(it|asRoot|onPosix|describe)\(/.test(line) && line.includes(title)
        expect(lines.some(isTitle), `${path} has no test “${title}”`).to.equal(true)
      })
  }
})
