import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Declarations } from '../src/cli/help/declared-command.ts'
import { findPage } from '../src/cli/help/find-page.ts'
import { helpTopics } from '../src/cli/help/help-topics.ts'
import { renderPage } from '../src/cli/help/render-page.ts'

/** Writes every page of help into dist/help as it is without a terminal, for bin/run.js to print. */

const root = resolve(import.meta.dirname, '..')
const directory = join(root, 'dist/help')
const readJson = (name: string) => JSON.parse(readFileSync(join(root, name), 'utf8'))
const declarations: Declarations = {
  commands: Object.values(readJson('oclif.manifest.json').commands),
  topics: Object.entries<object>(readJson('package.json').oclif.topics).map(([name, topic]) => ({
    name,
    ...topic,
  })),
}

mkdirSync(directory, { recursive: true })
const groups = declarations.commands.flatMap(({ id }) =>
  id.split(':').map((_, end, parts) => parts.slice(0, end + 1).join('.')),
)
for (const name of ['', ...new Set(groups), ...helpTopics.map((topic) => topic.name)]) {
  const words = name.split('.').filter(Boolean)
  const page = findPage(words, declarations)
  if (!page) throw new Error(`there is no help for ${name}`)
  const text = renderPage(page, { width: 80, bold: (title) => title })
  writeFileSync(join(directory, `${['chatctl', ...words].join('.')}.txt`), text)
}
