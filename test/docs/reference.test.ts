import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect } from 'chai'
import { parse } from 'yaml'
import { differenceExitCode, exitCodeOf } from '../../src/cli/exit-codes.ts'
import type { FailureKind } from '../../src/contract/failure.ts'
import { slashCommands } from '../../src/talk/slash/run-slash-command.ts'
import { commands, wordsOf } from '../support/manifest.ts'

const root = resolve(import.meta.dirname, '../..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const sources = globSync('src/**/*.ts', { cwd: root }).map(read).join('\n')
const readme = read('README.md')

describe('the README', () => {
  it('can be read at once', () => {
    expect(readme.split('\n').length).to.be.below(200)
  })

  it('has the exit codes of the whole table, all but those of a closed terminal', () => {
    const short = codesOf(readme)
    const whole = codesOf(read('docs/exit-codes.md'))
    whole.delete('129')
    expect(short.size).to.be.above(12)
    expect([...short].sort()).to.deep.equal([...whole].sort())
  })

  it('installs the package that npm pack makes now, as docs/guides/settings-as-code.md does', () => {
    const { name, version } = JSON.parse(read('package.json'))
    for (const text of [readme, read('docs/guides/settings-as-code.md')]) {
      expect(text).to.contain(`npm install --global ./${name}-${version}.tgz`)
    }
  })

  it('has a whole workflow: a checkout, Node, and the address and the key from the environment', () => {
    const [, text = ''] = /^```yaml\n([\s\S]*?)^```/m.exec(readme) ?? []
    const { on, jobs } = parse(text)
    expect(on).to.deep.equal({ push: { branches: ['main'] } })
    const { steps, env } = jobs.settings
    expect(Object.keys(env)).to.deep.equal(['CHATCTL_BASE_URL', 'CHATCTL_API_KEY'])
    const used = steps.flatMap(({ uses }: { uses?: string }) => uses ?? [])
    expect(used).to.deep.equal(['actions/checkout@v5', 'actions/setup-node@v5'])
  })
})

describe('what documents say of the program', () => {
  it('docs/exit-codes.md has every kind of failure, with its code', () => {
    const rows = [...read('docs/exit-codes.md').matchAll(/^\| ([\d, ]+) \|([^|]*)\|/gm)]
    const codes = new Map(
      rows.flatMap(([, code = '', names = '']) =>
        [...names.matchAll(/`(\w+)`/g)].map(([, name = '']) => [name, Number(code)] as const),
      ),
    )
    const kinds = [...read('src/cli/exit-codes.ts').matchAll(/^ {2}(\w+): \d+,$/gm)].map(
      ([, kind = '']) => kind,
    )
    expect(kinds.length).to.be.above(15)
    for (const kind of kinds) expect(codes.get(kind), kind).to.equal(exitCodeOf(kind as FailureKind))
    expect(rows.map(([, code]) => code)).to.include(`${differenceExitCode}`)
  })

  it('docs/reference/output.md says what each command prints', () => {
    const output = read('docs/reference/output.md')
    // What only talks to a person prints nothing for a program.
    const silent = ['chat']
    for (const { id, hidden } of commands) {
      const words = wordsOf(id).join(' ')
      if (!hidden && !silent.includes(words)) expect(output).to.match(new RegExp(`\`${words}[\` ]`))
    }
  })

  it('docs/guides/chat.md has every command of a session, in the words of its help', () => {
    const rows = read('docs/guides/chat.md').match(/^\| `\/.*$/gm)
    const expected = slashCommands.map(({ name, argument = '', summary }) => {
      const typed = `/${name} ${argument}`.trim().replaceAll('|', '\\|')
      return `| \`${typed}\` | ${summary} |`
    })
    expect(rows).to.deep.equal(expected)
  })

  for (const document of ['README.md', ...globSync('docs/{*,guides/*,reference/*}.md', { cwd: root })]) {
    it(`${document} names variables that are read`, () => {
      for (const [variable] of read(document).matchAll(/\bCHATCTL_[A-Z_]+[A-Z]\b/g)) {
        const option = variable.slice('CHATCTL_'.length).toLowerCase()
        const isRead = sources.includes(variable) || sources.includes(`  ${option}: Resolved<`)
        expect(isRead, `${document}: ${variable}`).to.equal(true)
      }
    })
  }
})

/** The numbers in the first column of the tables headed by `exit`, of both halves where there are two. */
function codesOf(text: string): Set<string> {
  const rows = text.match(/^\| exit \|[\s\S]*?\n(?!\|)/m)?.[0] ?? ''
  return new Set(
    [...rows.matchAll(/(?:^|\| \| )\|? ?([\d, ]+) \|/gm)].flatMap(([, codes = '']) => codes.split(', ')),
  )
}
