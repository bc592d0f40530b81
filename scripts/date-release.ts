import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { findReleaseFaults } from './check-release.ts'

/**
 * `npm version` runs this before it commits (`npm run cut-release -- 0.2.0`). Dates the section of the changelog, and
 * sets the version in the documents that name the one to install.
 */

const root = resolve(import.meta.dirname, '..')
const documents = ['README.md', 'docs/install.md', 'docs/guides/**/*.md']
const { npm_new_version: version = '', npm_old_version: old = '' } = process.env
const read = (name: string): string => readFileSync(join(root, name), 'utf8')

const unreleased = '## Unreleased\n'
const today = new Date().toISOString().slice(0, 10)
const changelog = read('CHANGELOG.md').replace(unreleased, `${unreleased}\n## ${version} - ${today}\n`)
const faults = findReleaseFaults(`v${version}`, version, changelog)
for (const fault of faults) process.stderr.write(`${fault}\n`)
if (faults.length > 0) {
  process.stderr.write('To undo the change of the version, run: git reset --hard\n')
  process.exitCode = 1
} else {
  writeFileSync(join(root, 'CHANGELOG.md'), changelog)
  const named = new RegExp(`(?<![\\d.])${old.replaceAll('.', '\\.')}(?!\\.?\\d)`, 'g')
  for (const name of globSync(documents, { cwd: root }))
    writeFileSync(join(root, name), read(name).replace(named, version))
}
