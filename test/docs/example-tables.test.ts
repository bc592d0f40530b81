import { existsSync, globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect } from 'chai'
import { helpTopics } from '../../src/cli/help/page.ts'
import { commands, topics, wordsOf } from '../support/manifest.ts'
import { elsewhere, files, type Names, preparations, promisedCodes, substitutions } from './example-tables.ts'
import { examplesOf, readDocumentExamples, readHelpExamples } from './read-examples.ts'

const root = resolve(import.meta.dirname, '../..')
const examples = [...readDocumentExamples().values(), ...readHelpExamples().values()].flat()
const texts = new Set(examples.map(({ text }) => text))

describe('the examples in the documents and the help', () => {
  it('are found in indented blocks, scripts, and workflow steps', () => {
    expect(examples.length).to.be.above(150)
    const text =
      'a\n\n    chatctl one \\\n      --flag\n    # comment\n    npm ci\n\n    not typed\n\nb\n\n```sh\nchatctl two\n```\n' +
      '```yaml\njobs: { a: { steps: [{ run: chatctl three }, { uses: x }] } }\n```\n```ini\nA=b\nRun=/bin/env chatctl four\n```\n'
    expect(examplesOf(text)).to.deep.equal([
      'chatctl one --flag',
      '# comment',
      'npm ci',
      'chatctl two\n',
      'chatctl three',
      'Run=/bin/env chatctl four',
    ])
  })

  it('run here, or have a reason and a test that runs them', () => {
    for (const { text, why, test } of elsewhere) {
      expect(texts.has(text), `${text} is no longer an example`).to.equal(true)
      expect(why).not.to.equal('')
      expect(existsSync(join(root, test)), test).to.equal(true)
    }
  })

  it('include every example that the tables name', () => {
    const prepared = [...Object.keys(preparations), ...Object.keys(promisedCodes)]
    for (const text of prepared) expect(texts.has(text), text).to.equal(true)
    const everything = [...texts, ...Object.values(preparations)].join('\n')
    for (const { of } of substitutions) expect(everything).to.match(new RegExp(of.source, 'm'))
    for (const name of Object.keys(files)) expect(everything).to.contain(name)
  })

  it('listen on free ports only, and connect to no fixed port of the service', () => {
    const names = { url: 'http://127.0.0.1:0', trustNames: [], deletableIds: [] } as unknown as Names
    const typed = [...texts]
      .filter((text) => !elsewhere.some((one) => one.text === text))
      .map((text) => substitutions.reduce((words, { of, by }) => words.replace(of, by(names)), text))
    const runs = typed.filter((text) => /^[^#]*service run/.test(text))
    expect(runs).not.to.deep.equal([])
    for (const text of runs) expect(text).to.contain('--port 0')
    const fixed = typed.filter((text) => /\b8787\b|--(\w+-)?port[ =][1-9]/.test(text))
    expect(fixed, 'Add the port to `substitutions` in test/docs/example-tables.ts').to.deep.equal([])
  })

  it('use the files that docs/guides/users-in-bulk.md shows', () => {
    const page = readFileSync(join(root, 'docs/guides/users-in-bulk.md'), 'utf8')
    for (const name of ['users.csv', 'users.jsonl'])
      expect(page).to.contain(`\n\n${files[name]?.replace(/^(?=.)/gm, '    ')}\n`)
  })
})

describe('commands in the text of documents', () => {
  const documents = [
    ...'README.md CONTRIBUTING.md CHANGELOG.md SECURITY.md'.split(' '),
    ...globSync('docs/{*,guides/*,reference/*,decisions/*}.md', { cwd: root }),
  ]
  const ids = commands.map(({ id }) => wordsOf(id).join(' '))
  const known = new Set([...ids, ...topics, 'help', ...helpTopics.map(({ name }) => `help ${name}`)])

  for (const document of documents)
    it(`exist with their flags: ${document}`, () => {
      const text = readFileSync(join(root, document), 'utf8')
      for (const [, line = ''] of text.matchAll(/`chatctl ([a-z][^`\n]*)`/g)) {
        const words = line.split(' ')
        const length = words.findIndex((_, index) => !known.has(words.slice(0, index + 1).join(' ')))
        const name = words.slice(0, length < 0 ? words.length : length).join(' ')
        expect(known.has(name) || line === '…', `${document}: chatctl ${line}`).to.equal(true)
        const command = commands.find(({ id }) => wordsOf(id).join(' ') === name)
        // After a topic, any other word would be a command that no longer exists.
        if (command === undefined && !name.startsWith('help'))
          expect(words.slice(length < 0 ? words.length : length).join('')).to.match(/^(…|--help)?$/)
        const flags = Object.keys(command?.flags ?? {})
        for (const [, flag = ''] of line.matchAll(/ --(?:no-)?([a-z-]+)/g))
          expect(
            [...flags, 'help', 'version', ...flags.map((one) => one.replace(/^no-/, ''))],
            `${document}: chatctl ${line}`,
          ).to.include(flag)
      }
    })
})
