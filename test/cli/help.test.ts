import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect } from 'chai'
import { perSuite } from '../support/lifetime.ts'
import { commands, topics, wordsOf } from '../support/manifest.ts'
import { type Run, runChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'

/** CHATCTL_UPDATE_GOLDEN=1 rewrites the golden files. Review them before you commit them. */
const golden = join(import.meta.dirname, 'help')
const updates = process.env['CHATCTL_UPDATE_GOLDEN'] === '1'

const visible = commands.filter(({ hidden }) => !hidden)
// A topic can also be a command. Both have one page.
const pages = [...new Set(['', ...topics, ...visible.map(({ id }) => wordsOf(id).join(' '))])]
const fileOf = (page: string): string => `${page.replaceAll(' ', '-') || 'chatctl'}.txt`

/** The pages that the build writes. `test/slow/written-help.test.ts` compares them with the program. */
function readPage(page: string): string {
  const name = ['chatctl', ...page.split(' ').filter(Boolean)].join('.')
  return readFileSync(resolve(import.meta.dirname, '../../dist/help', `${name}.txt`), 'utf8')
}

const sectionOf = (text: string): string => /^GLOBAL FLAGS\n(?: .*\n)+\n?/m.exec(text)?.[0] ?? ''
/** The section that most commands share. A golden page contains the section only if it differs. */
const globalFlags = sectionOf(readPage('config path'))

function expectGolden(name: string, text: string): void {
  const path = join(golden, name)
  if (updates) {
    mkdirSync(golden, { recursive: true })
    writeFileSync(path, text)
  }
  expect(text).to.equal(readFileSync(path, 'utf8'))
}

describe('help', () => {
  const sandbox = perSuite(createSandbox)
  const run = (args: readonly string[]): Promise<Run> =>
    runChatctl(sandbox, args, { env: { COLUMNS: '80', FORCE_COLOR: '0', OCLIF_COLUMNS: '80' } })

  for (const page of pages) {
    it(`matches the golden file: chatctl ${page}`, () => {
      const text = readPage(page).replace(/^ {2}chatctl\/.*$/m, '  chatctl/VERSION')
      expectGolden(fileOf(page), text.replace(globalFlags, ''))
      for (const line of text.split('\n').filter((one) => !one.trim().startsWith('$ ')))
        expect(line.length, line).to.be.at.most(80)
    })
  }

  it('lists the same global flags for nearly all commands', () => {
    expectGolden('global-flags.txt', globalFlags)
    const others = pages.filter((page) => ![globalFlags, ''].includes(sectionOf(readPage(page))))
    expect(others).to.have.length.below(8)
  })

  it('has a page for every golden file', () => {
    expect(readdirSync(golden).sort()).to.deep.equal([...pages.map(fileOf), 'global-flags.txt'].sort())
  })

  it('has a summary and an example for every command', () => {
    const wrong = visible.filter(
      ({ summary, examples = [] }) =>
        !/^[A-Z].*\.$/.test(summary ?? '') ||
        examples.length === 0 ||
        examples.some((example) => !example.includes('<%= config.bin %>')),
    )
    expect(wrong.map(({ id }) => id)).to.deep.equal([])
  })

  it('describes every flag of every command in a sentence', () => {
    const wrong = visible.flatMap(({ id, flags }) =>
      Object.values(flags)
        .filter(({ summary }) => !/^(\[env: \w+\] )?\S.*\.$/.test(summary ?? ''))
        .map(({ name }) => `${id} --${name}`),
    )
    expect(wrong).to.deep.equal([])
  })

  it('is shown for no arguments, for a topic, and with -h, --help, and help', async () => {
    const same: [string, string[]][] = [
      ['', []],
      ['settings', ['settings']],
      ['settings get', ['settings', 'get', '-h']],
      ['settings get', ['settings', 'get', '--help']],
      ['settings get', ['help', 'settings', 'get']],
    ]
    const platform = `${process.platform}-${process.arch} node-${process.version}`
    for (const [page, args] of same) {
      const stdout = readPage(page).replace('{platform}', platform)
      expect(await run(args), args.join(' ')).to.deep.equal({ exitCode: 0, stdout, stderr: '' })
    }
  })

  const slips: [string[], string][] = [
    [['setings', 'get'], 'chatctl settings'],
    [['settings', 'gte'], 'chatctl settings get'],
    [['settings', 'api', 'sett'], 'chatctl settings api set'],
    [['user', 'get', 'u1'], 'chatctl users'],
    [['chat', 'model'], 'chatctl chat models'],
    [['docter'], 'chatctl doctor'],
    [['help', 'setings'], 'chatctl settings'],
    [['setings', '--help'], 'chatctl settings'],
    [['settings', 'gett', '--json'], 'chatctl settings get'],
    [['settings', 'get', '--feilds', 'a'], '--fields'],
    [['users', 'create', '--emial', 'a@b'], '--email'],
    [['chat', 'send', 'x', '--contxt', 'c'], '--context'],
    [['settings', 'set', '--dryrun', 'a=b'], '--dry-run'],
  ]
  for (const [args, meant] of slips) {
    it(`suggests the intended command: ${args.join(' ')}`, async () => {
      const { exitCode, stdout, stderr } = await run(args)
      expect({ exitCode, stdout }, stderr).to.deep.equal({ exitCode: 2, stdout: '' })
      if (!args.includes('--json')) expect(stderr).to.match(/^Error: \S.*\nHint: Did you mean/)
      else expect(JSON.parse(stderr).error).to.include({ code: 'usage' })
      expect(stderr).to.contain(meant)
    })
  }
})
