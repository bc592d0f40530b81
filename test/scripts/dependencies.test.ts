import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import type { BundledPackage } from '../../scripts/bundled-packages.ts'
import { packageFile, root } from './package-file.ts'

const read = (path: string): string => readFileSync(join(root, path), 'utf8')

describe('docs/dependencies.md', () => {
  const sections = read('docs/dependencies.md').split(/^## /m)
  const bundled: BundledPackage[] = JSON.parse(read('dist/.packages.json'))
  const inDist = new Set(bundled.map(({ directory }) => directory.replace(/^node_modules\//, '')))
  const development = Object.keys(packageFile.devDependencies)
  const packages = {
    Installed: Object.keys(packageFile.dependencies),
    Bundled: development.filter((name) => inDist.has(name)),
    Development: development.filter((name) => !inDist.has(name)),
    'Test lanes': Object.keys(JSON.parse(read('test/package.json')).devDependencies),
  }

  for (const [title, names] of Object.entries(packages)) {
    it(`says what each package is for: ${title}`, () => {
      const section = sections.find((text) => text.startsWith(`${title}\n`)) ?? ''
      const listed = [...section.matchAll(/^\| ([@\w]\S*) \| \S/gm)].map(([, name = '']) => name)
      const rows = listed.filter((name) => name !== 'package')
      expect(rows, `Correct the table "${title}" of docs/dependencies.md`).to.deep.equal(names)
    })
  }
})
