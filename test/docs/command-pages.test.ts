import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect } from 'chai'
import { describeEndpoint, writeCommandPages, writeEnvironmentPage } from '../../scripts/command-pages.ts'
import { endpoints } from '../../src/contract/endpoints.ts'
import { commandOf, serviceCalls } from '../support/command-lines.ts'
import { commands, wordsOf } from '../support/manifest.ts'

const root = resolve(import.meta.dirname, '../..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const readJson = (path: string) => JSON.parse(read(path))
const manifest = readJson('oclif.manifest.json')
const visible = commands.filter(({ hidden }) => !hidden)

const hint = 'Run: npm run docs'

describe('docs/commands', () => {
  const pages = writeCommandPages(manifest, readJson('package.json').oclif.topics)

  it('has a page for each topic, and no other page', () =>
    expect(readdirSync(join(root, 'docs/commands')).sort(), hint).to.deep.equal([...pages.keys()].sort()))

  for (const [name, text] of pages)
    it(`matches the commands: ${name}`, () => expect(read(`docs/commands/${name}`), hint).to.equal(text))

  it('contains every command, flag, and example', () => {
    const all = [...pages.values()].join('\n')
    for (const { id, flags, examples = [] } of visible) {
      const page = pages.get(`${wordsOf(id)[0]}.md`) ?? ''
      expect(page).to.contain(`chatctl ${wordsOf(id).join(' ')}`)
      for (const { description, command } of examples)
        expect(page).to.contain(`# ${description}\n${command}\n`)
      for (const [name, flag] of Object.entries(flags))
        if (!('hidden' in flag)) expect(all).to.match(new RegExp(`--(\\[no-\\])?${name}[\` ]`))
    }
  })

  it('shows the usage that the help shows', () => {
    for (const { id } of visible) {
      const help = read(`dist/help/${['chatctl', ...wordsOf(id)].join('.')}.txt`)
      const usage = (/^USAGE\n((?: {2}.*\n)+)/m.exec(help)?.[1] ?? '').replaceAll(/\n {6}/g, ' ')
      const lines = usage.split('\n').flatMap((line) => (line.startsWith('  $ ') ? line.slice(4) : []))
      expect(pages.get(`${wordsOf(id)[0]}.md`)).to.contain(['```sh', ...lines, '```'].join('\n'))
    }
  })

  it('matches the help topic: docs/reference/environment.md', () =>
    expect(read('docs/reference/environment.md'), hint).to.equal(writeEnvironmentPage(manifest)))

  it('names the requests that the commands make', () => {
    const silent = visible.filter(({ requests }) => requests === undefined).map(({ id }) => id)
    expect(silent, 'Declare the requests of these commands: static override requests').to.deep.equal([])
    for (const { name, endpoint, readsBack } of serviceCalls) {
      const id = commandOf(name)
      if (id === 'api') continue
      const declared = commands.find((command) => command.id === id)?.requests?.calls.map(describeEndpoint)
      for (const request of [endpoint, readsBack ?? endpoint]) {
        const [method, path = ''] = request.split(' ')
        const known = Object.values(endpoints).find(
          (one) => one.method === method && one.path === path.replace('/users/u1', '/users/{id}'),
        )
        expect(declared, name).to.include(`${known?.method} ${known?.path}`)
      }
    }
  })

  it('has tables whose rows have as many cells as their header', () => {
    for (const [name, text] of pages) {
      for (const line of text.split('\n').filter((one) => one.startsWith('|')))
        expect(line.match(/(?<!\\)\|/g), `${name}: ${line}`).to.have.length(3)
    }
  })
})
