import { globSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { expect } from 'chai'
import { composeExecutableLicenses } from '../../scripts/compose-licenses.ts'
import { packageFile, root } from './package-file.ts'

interface Section {
  name: string
  version: string
  license: string
  text: string
}

/** Licenses under which a package may be part of a program with the MIT license if its license text is included. */
const permitted = ['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'BlueOak-1.0.0', 'ISC', 'MIT']

function readSections(text = readFileSync(join(root, 'dist/licenses.txt'), 'utf8')): Section[] {
  const parts = text.split(/^=== (\S+) (\S+) \((.+)\)$/m).slice(1)
  return Array.from({ length: parts.length / 4 }, (_, index) => {
    const [name = '', version = '', license = '', body = ''] = parts.slice(index * 4)
    return { name, version, license, text: body.trim() }
  })
}

/** The packages that the source imports. */
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

  it('lists every package that the source imports, except the dependencies of an installation', () => {
    const listed = new Set(sections.map(({ name }) => name))
    const missing = [...findUsed()].filter((name) => !listed.has(name) && !(name in packageFile.dependencies))
    expect(findUsed().size).to.be.above(20)
    expect(missing).to.deep.equal([])
  })

  it('contains the license text and the copyright of each package', () => {
    for (const { name, text } of sections) {
      const place = `${name}: add its license to scripts/compose-licenses.ts`
      expect(text, place).to.have.length.above(400)
      expect(text, place).to.match(/copyright|\(c\)|©/i)
    }
  })

  it('names the license of each package, all of which are permitted', () => {
    const others = sections.filter(({ license }) => !permitted.includes(license))
    expect(others, 'Use other packages, or add the license to `permitted` in this file').to.deep.equal([])
  })

  it('names the components of jq.wasm', () => {
    const { text = '' } = sections.find(({ name }) => name === 'jq-wasm') ?? {}
    expect(text).to.contain('Stephen Dolan').and.contain('Oniguruma').and.contain('decNumber')
  })
})

describe('the licenses of an executable', () => {
  it('are those of the bundled packages, of the native add-on with its crates, and of Node', () => {
    const addOn = globSync('node_modules/@napi-rs/keyring-*', { cwd: root })[0] ?? ''
    const text = composeExecutableLicenses(root, join(root, addOn), process.versions.node)
    const added = readSections(text).slice(readSections().length)
    expect(added.map(({ name }) => name)).to.deep.equal([addOn.replaceAll('\\', '/').slice(13), 'node'])
    expect(added[0]?.text)
      .to.contain('# Third-party licenses')
      .and.match(/^MIT License/)
    expect(added[1]?.text).to.contain('OpenSSL, located at').and.contain('V8, located at')
  })
})
