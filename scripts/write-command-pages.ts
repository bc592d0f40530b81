import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { writeCommandPages, writeEnvironmentPage } from './command-pages.ts'

/**
 * `npm run docs` writes docs/commands and docs/reference/environment.md from the manifest that the build has made, and
 * lists the man pages of the build in package.json.
 */

const root = resolve(import.meta.dirname, '..')
const readJson = (name: string) => JSON.parse(readFileSync(join(root, name), 'utf8'))
const directory = join(root, 'docs/commands')
rmSync(directory, { recursive: true, force: true })
mkdirSync(directory)
const manifest = readJson('oclif.manifest.json')
writeFileSync(join(root, 'docs/reference/environment.md'), writeEnvironmentPage(manifest))
const packageFile = readJson('package.json')
const pages = writeCommandPages(manifest, packageFile.oclif.topics)
for (const [name, text] of pages) writeFileSync(join(directory, name), text)
const man = globSync('man/*', { cwd: root })
  .map((path) => path.replaceAll('\\', '/'))
  .sort()
if (man.join() !== packageFile.man.join())
  writeFileSync(join(root, 'package.json'), `${JSON.stringify({ ...packageFile, man }, null, 2)}\n`)
