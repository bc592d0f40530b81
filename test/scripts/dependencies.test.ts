import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { dependencyReasons } from '../../scripts/dependency-reasons.ts'
import { composeDependencyPage } from '../../scripts/list-dependencies.ts'
import { packageFile, root } from './package-file.ts'

const hint = 'Run: npm run docs'

describe('docs/dependencies.md', () => {
  const page = readFileSync(join(root, 'docs/dependencies.md'), 'utf8')
  const named = [...page.matchAll(/^\| ([@\w][^ ]*) \|/gm)].map(([, name]) => name)
  const depended = Object.keys({ ...packageFile.dependencies, ...packageFile.devDependencies }).sort()

  it('has a row for every package in package.json, and no others', () => {
    expect(named.filter((name) => name !== 'package').sort(), hint).to.deep.equal(depended)
  })

  it('has a reason for every package, and no others', () => {
    const place = 'Change scripts/dependency-reasons.ts, then run: npm run docs'
    expect(Object.keys(dependencyReasons).sort(), place).to.deep.equal(depended)
  })

  it('is what `npm run docs` writes, apart from the sizes', () => {
    const withoutSizes = (text: string): string => text.replaceAll(/(?<= )[\d,]+(?= )/g, 'N')
    expect(withoutSizes(page), hint).to.equal(withoutSizes(composeDependencyPage()))
  })
})
