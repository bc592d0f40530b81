import { globSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { expect } from 'chai'
import { packageFile, root } from './package-file.ts'

interface Section {
  name: string
  version: string
  license: string
  text: string
}

/** Licenses that let a program be passed on under MIT when their text goes with it. */
const permitted = ['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'BlueOak-1.0.0', 'ISC', 'MIT']

function readSections(): Section[] {
  const text = readFileSync(join(root, 'dist/licenses.txt'), 'utf8')
  const parts = text.split(/^=== (\S+) (\S+) \((.+)\)$/m).slice(1)
  return Array.from({ length: parts.length / 4 }, (_, index) => {
    const [name = '', version = '', license = '', body = ''] = parts.slice(index * 4)
    return { name, version, license, text: body.trim() }
  })
}

/** Packages that the source imports, and those that are among the files of a bundle. */
function findUsed(): Set<string> {
  const source = globSync('src/**/*.ts', { cwd: root }).map((file) => readFileSync(join(root, file), 'utf8'))
  const names = source.flatMap((text) =>
    [...text.matchAll(/^(?!import type).*(?:from |import\()'((?:@[\w-]+\/)?[\w.-]+)(?:\/[^']*)?'/gm)]
      .map(([, name = '']) => name)
      .filter((name) => !name.startsWith('.') && !isBuiltin(name)),
  )
  return new Set(names)
}

describe('dist/licenses.txt', () => {
  const sections = readSections()

  it('has every package that the source imports and an installation does not bring', () => {
    const listed = new Set(sections.map(({ name }) => name))
    const missing = [...findUsed()].filter((name) => !listed.has(name) && !(name in packageFile.dependencies))
    expect(findUsed().size).to.be.above(20)
    expect(missing).to.deep.equal([])
  })

  it('has what those bring, too', () => {
    const names = sections.map(({ name }) => name)
    expect(names).to.include.members(['avvio', 'koa', 'pg-protocol', 'jose'])
  })

  it('has the text of each, and who holds the rights', () => {
    for (const { name, text } of sections) {
      expect(text, name).to.have.length.above(400)
      expect(text, name).to.match(/copyright|\(c\)|©/i)
    }
  })

  it('names the license of each, and all may be passed on', () => {
    const others = sections.filter(({ license }) => !permitted.includes(license))
    expect(others).to.deep.equal([])
  })

  it('has what jq.wasm was compiled from', () => {
    const { text = '' } = sections.find(({ name }) => name === 'jq-wasm') ?? {}
    expect(text).to.contain('Stephen Dolan').and.contain('Oniguruma').and.contain('decNumber')
  })
})
