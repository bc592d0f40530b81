import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { dependencyReasons } from '../../scripts/dependency-reasons.ts'
import { composeDependencyPage } from '../../scripts/list-dependencies.ts'
import { packageFile, root } from './package-file.ts'

describe('docs/dependencies.md', () => {
  it('has a reason for every package, and no others', () => {
    const lanes = JSON.parse(readFileSync(join(root, 'test/package.json'), 'utf8'))
    const { dependencies, devDependencies } = packageFile
    const names = Object.keys({ ...dependencies, ...devDependencies, ...lanes.devDependencies })
    const place = 'Change scripts/dependency-reasons.ts, then run: npm run docs'
    expect(Object.keys(dependencyReasons), place).to.have.members(names)
  })

  it('is what `npm run docs` writes', () => {
    const page = readFileSync(join(root, 'docs/dependencies.md'), 'utf8')
    expect(page, 'Run: npm run docs').to.equal(composeDependencyPage())
  })
})
