import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { writeCommandPages, writeEnvironmentPage } from './command-pages.ts'

/** Writes docs/commands and docs/reference/environment.md from the manifest that the build has made: `npm run docs`. */

const root = resolve(import.meta.dirname, '..')
const readJson = (name: string) => JSON.parse(readFileSync(join(root, name), 'utf8'))
const directory = join(root, 'docs/commands')
rmSync(directory, { recursive: true, force: true })
mkdirSync(directory)
const manifest = readJson('oclif.manifest.json')
writeFileSync(join(root, 'docs/reference/environment.md'), writeEnvironmentPage(manifest))
const pages = writeCommandPages(manifest, readJson('package.json').oclif.topics)
for (const [name, text] of pages) writeFileSync(join(directory, name), text)
