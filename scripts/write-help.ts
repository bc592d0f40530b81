import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Declarations, helpTopics } from '../src/cli/help/page.ts'
import { renderPage } from '../src/cli/help/render-page.ts'
import { findPage } from '../src/cli/help/show-help.ts'
import { writeManPage } from './man-page.ts'

/**
 * Writes every page of help twice: into dist/help as it is without a terminal, for bin/run.js to print,
 * and into man/ for man(1).
 */

const root = resolve(import.meta.dirname, '..')
const directory = join(root, 'dist/help')
const manual = join(root, 'man')
const read = (name: string) => readFileSync(join(root, name), 'utf8')
const readJson = (name: string) => JSON.parse(read(name))
const { version, oclif } = readJson('package.json')
const declarations: Declarations = {
  commands: Object.values(readJson('oclif.manifest.json').commands),
  topics: Object.entries<object>(oclif.topics).map(([name, topic]) => ({
    name,
    ...topic,
  })),
}

const { SOURCE_DATE_EPOCH: epoch } = process.env
const today = new Date(epoch === undefined ? Date.now() : Number(epoch) * 1000)
/** Of the last release, or of a build that is not one. */
const date =
  /^## .* - (\d{4}-\d\d-\d\d)$/m.exec(read('CHANGELOG.md'))?.[1] ?? today.toISOString().slice(0, 10)
const topicNames = helpTopics.map((topic) => topic.name)
const seeAlso = topicNames.map((name) => `chatctl-${name}(7)`)

const hidden = new Set(declarations.commands.filter((command) => command.hidden).map(({ id }) => id))
mkdirSync(directory, { recursive: true })
rmSync(manual, { recursive: true, force: true })
mkdirSync(manual)
const groups = declarations.commands.flatMap(({ id }) =>
  id.split(':').map((_, end, parts) => parts.slice(0, end + 1).join('.')),
)
for (const name of ['', ...new Set(groups), ...topicNames]) {
  const words = name.split('.').filter(Boolean)
  const page = findPage(words, declarations)
  if (!page) throw new Error(`there is no help for ${name}`)
  const text = renderPage(page, { width: 80, bold: (title) => title })
  writeFileSync(join(directory, `${['chatctl', ...words].join('.')}.txt`), text)
  if (hidden.has(words.join(':'))) continue
  const title = ['chatctl', ...words].join('-')
  const section = topicNames.some((topic) => topic === name) ? 7 : 1
  const others = words.length === 0 ? seeAlso : ['chatctl(1)', ...seeAlso]
  const manPage = writeManPage(page, { name: title, section, version, date, seeAlso: others })
  writeFileSync(join(manual, `${title}.${section}`), manPage)
}
