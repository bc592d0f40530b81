import { globSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect } from 'chai'
import { describeFlag, flagLabel, listedFlags } from '../../src/cli/help/command-page.ts'
import { type Declarations, type Example, helpTopics } from '../../src/cli/help/page.ts'
import { renderPage } from '../../src/cli/help/render-page.ts'
import { findPage } from '../../src/cli/help/show-help.ts'
import { exitCodeMeanings } from '../../src/cli/help/topic-pages.ts'
import { profileKeys } from '../../src/config/configuration-file.ts'
import { expectFailure } from '../support/expect-failure.ts'
import { expectGolden, howToUpdate, updatesGoldenFiles } from '../support/golden.ts'
import { perSuite } from '../support/lifetime.ts'
import { commands, topics, wordsOf } from '../support/manifest.ts'
import { type Run, runChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'

const golden = join(import.meta.dirname, 'help')
const root = resolve(import.meta.dirname, '../..')
const readJson = (name: string) => JSON.parse(readFileSync(join(root, name), 'utf8'))

const visible = commands.filter(({ hidden }) => !hidden)
// A topic can also be a command. Both have one page.
const commandPages = [...new Set([...topics, ...visible.map(({ id }) => wordsOf(id).join(' '))])]
const pages = ['', ...commandPages, ...helpTopics.map(({ name }) => name)]

/**
 * Pages that show each layout, and the help topics that no document repeats. The text of the others is
 * checked in docs/commands and docs/reference/environment.md.
 */
const goldenPages = [
  '',
  'chat send',
  'service run',
  ...'agents chat exec exit-codes flags output users'.split(' '),
]
const fileOf = (page: string): string => `${page.replaceAll(' ', '-') || 'chatctl'}.txt`
const narrowFile = 'plan-approve-40-columns.txt'

/** The pages that do not fit in a terminal of 42 lines with a prompt below them. */
const longPages = [
  ...['auth login', 'chat', 'chat send', 'environment', 'service run'],
  ...['users apply', 'users create', 'users import', 'users permissions assign'],
]

/** What the build wrote. `test/slow/program/written-help.test.ts` compares it with what the program prints. */
function readPage(page: string): string {
  const name = ['chatctl', ...page.split(' ').filter(Boolean)].join('.')
  return readFileSync(join(root, 'dist/help', `${name}.txt`), 'utf8')
}

/** Without the line breaks of the layout. */
const inOneLine = (text: string): string => text.replace(/ \\\n/g, ' ').replace(/\s+/g, ' ')

const declared = {
  commands: Object.values(readJson('oclif.manifest.json').commands),
  topics: Object.entries<object>(readJson('package.json').oclif.topics).map(([name, topic]) => ({
    name,
    ...topic,
  })),
} as Declarations

/** A page as the program lays it out for a terminal. */
function layOut(page: string, width: number): string {
  const found = findPage(page.split(' ').filter(Boolean), declared)
  return found ? renderPage(found, { width, bold: (text) => text }) : ''
}

describe('help', () => {
  const sandbox = perSuite(createSandbox)
  const run = (args: readonly string[]): Promise<Run> =>
    runChatctl(sandbox, args, { env: { COLUMNS: '80', FORCE_COLOR: '0', OCLIF_COLUMNS: '80' } })

  for (const page of goldenPages)
    it(`matches the golden file: chatctl ${page}`, () =>
      expectGolden(join(golden, fileOf(page)), readPage(page)))

  it('matches the golden file in a terminal of 40 columns', () =>
    expectGolden(join(golden, narrowFile), layOut('plan approve', 40)))

  it('has a page for every golden file', () => {
    const known = [...goldenPages.map(fileOf), narrowFile]
    const extra = readdirSync(golden).filter((name) => !known.includes(name))
    if (updatesGoldenFiles) for (const name of extra) rmSync(join(golden, name))
    else expect(extra, howToUpdate).to.deep.equal([])
  })

  it('shows the summary, examples, arguments, and flags of each command', () => {
    for (const command of declared.commands.filter(({ hidden }) => !hidden)) {
      const { id, summary, args, examples, description = '' } = command
      const page = readPage(wordsOf(id).join(' '))
      const text = inOneLine(page)
      expect(page.startsWith(`${summary}.\n\nUSAGE\n`), id).to.equal(true)
      for (const example of examples as Example[])
        expect(text).to.contain(`${example.description} $ ${inOneLine(example.command)}`)
      for (const argument of Object.values(args))
        expect(text).to.contain(` ${argument.name.toUpperCase()} ${argument.description}`)
      for (const flag of listedFlags(command, declared))
        expect(text).to.contain(inOneLine(` ${flagLabel(flag).trim()} ${describeFlag(flag)}`))
      expect(text).to.match(
        / Global flags: -p\/--profile, .*\(chatctl help flags\) Exit codes: chatctl help exit-codes $/,
      )
      if (description !== '') expect(text).to.contain(` DESCRIPTION ${inOneLine(description)} Global flags: `)
    }
  })

  it('has bold titles with FORCE_COLOR', async () => {
    const { stdout } = await runChatctl(sandbox, ['exec', '--help'], { env: { FORCE_COLOR: '1' } })
    expect(stdout).to.equal(readPage('exec').replace(/^[A-Z]+$/gm, '\u001b[1m$&\u001b[22m'))
  })

  it('has no line of more than 80 columns', () => {
    for (const page of pages)
      for (const line of readPage(page).split('\n')) expect(line.length, line).to.be.at.most(80)
  })

  it('fits in a terminal of 42 lines, except for the longest pages', () => {
    const long = pages.filter((page) => readPage(page).split('\n').length - 1 > 41)
    expect(long.sort(), 'Shorten the page, or add it to `longPages` in this file').to.deep.equal(longPages)
    for (const page of long)
      expect(readPage(page).split('\n').length, `${page}: shorten the page in src/cli/help`).to.be.below(80)
  })

  it('fits in 800 tokens for agents: 3,000 characters', () =>
    expect(readPage('agents').length, 'Shorten the page in src/cli/help').to.be.at.most(3_000))

  it('breaks no word at 40 columns, and no line is longer', () => {
    for (const page of pages) {
      const words = new Set(readPage(page).split(/[\s\\]+/))
      for (const line of layOut(page, 40).split('\n')) {
        expect(line.length, `${page}: ${line}`).to.be.at.most(40)
        const broken = line.split(/[\s\\]+/).filter((word) => !words.has(word))
        expect(broken, page).to.deep.equal([])
      }
    }
  })

  it('has a man page in package.json for every page', () => {
    const named = pages.map((page) => {
      const section = helpTopics.some(({ name }) => name === page) ? 7 : 1
      return `man/${['chatctl', ...page.split(' ').filter(Boolean)].join('-')}.${section}`
    })
    expect(readJson('package.json').man, 'Run: npm run docs').to.deep.equal(named.sort())
  })

  it('lists every command and group at the top, and every help topic', () => {
    const text = readPage('')
    const names = new Set(visible.map(({ id }) => wordsOf(id)[0] ?? ''))
    for (const name of [...names, ...helpTopics.map((topic) => `help ${topic.name}`)])
      expect(text).to.match(new RegExp(`^  ${name}  +\\S`, 'm'))
  })

  it('shows the examples of every command right after the usage, one task each', () => {
    for (const { id, examples = [] } of visible) {
      expect(examples.length, `${id} needs two examples`).to.be.at.least(2)
      for (const { description, command } of examples) {
        expect(description, `${id}: begin with a capital letter, without a period`).to.match(/^[A-Z].*[^.]$/)
        expect(command, id).to.match(/(^|[ |("<])chatctl /)
      }
      expect(readPage(wordsOf(id).join(' ')), id).to.match(/^USAGE\n( {2}.*\n)+\nEXAMPLES\n/m)
    }
  })

  it('summarizes commands, flags, and arguments in one line each, without a period', () => {
    const summaries = visible.flatMap(({ id, summary, flags }) => [
      { name: id, summary },
      ...Object.values(flags).map((flag) => ({ name: `${id} --${flag.name}`, summary: flag.summary })),
    ])
    expect(summaries.filter(({ summary }) => !/^[A-Zb][^\n]*[^.\s]$/.test(summary ?? ''))).to.deep.equal([])
  })

  it('names no environment variable on the page of a command', () => {
    for (const page of commandPages)
      expect(readPage(page).replace(/^ {2}\$ .*/gm, '')).not.to.match(/\[env|CHATCTL_/)
  })

  it('lists every environment variable that the sources read, and no other', () => {
    const texts = globSync('src/**/*.ts', { cwd: root, exclude: ['src/cli/help/**'] }).map((path) =>
      readFileSync(join(root, path), 'utf8'),
    )
    const read = new Set(texts.flatMap((text) => [...variablesIn(text)]))
    for (const key of ['profile', ...profileKeys]) read.add(`CHATCTL_${key.toUpperCase()}`)
    const listed = new Set(
      [...layOut('environment', 200).matchAll(/\b[A-Z][A-Z_]{2,}\b/g)].map(([name]) => name),
    )
    const own = (name: string) => name.startsWith('CHATCTL_')
    const missing = [...read].filter((name) => !listed.has(name) && !unlisted.has(name))
    const place = 'src/cli/help/environment-variables.ts'
    expect(missing, `Add these to ${place}, or to \`unlisted\` in this file`).to.deep.equal([])
    const extra = [...listed].filter((name) => own(name) && !read.has(name))
    expect(extra, `Remove these from ${place}`).to.deep.equal([])
    for (const { flags } of commands)
      for (const { env } of Object.values(flags)) if (env) expect(listed).to.include(env)
  })

  it('gives the exit codes of docs/exit-codes.md', () => {
    const page = readFileSync(join(root, 'docs/exit-codes.md'), 'utf8')
    const table = /^\| exit \|.*\n(?:\|.*\n)+/m.exec(page)?.[0] ?? ''
    const documented = [...table.matchAll(/^\| ([\d, ]+) \|/gm)]
    const codes = new Set(documented.flatMap(([, numbers = '']) => numbers.split(', ')))
    const meanings = exitCodeMeanings.map(([code]) => code)
    const place = 'Change docs/exit-codes.md and src/cli/help/topic-pages.ts together'
    expect([...codes].sort(), place).to.deep.equal(meanings.sort())
  })

  it('is shown for no arguments, for a topic, and with -h, --help, and help', async () => {
    const same: Record<string, string[]> = {
      '': ['', 'help', 'help help', 'help --help'],
      'exit-codes': ['help exit-codes'],
      'users get': ['-p work users get ID --help'],
      settings: ['settings'],
      'settings get': ['settings get -h', 'settings get --help', 'help settings get'],
    }
    for (const [page, lines] of Object.entries(same))
      for (const line of lines) {
        const shown = await run(line.split(' ').filter(Boolean))
        expect(shown, line).to.deep.equal({ exitCode: 0, stdout: readPage(page), stderr: '' })
      }
  })

  for (const [line, meant] of [
    ['help setings', 'chatctl settings'],
    ['help flgas', 'chatctl help flags'],
    ['help settings gett', 'chatctl settings get'],
    ['chat sned --help', 'chatctl chat send'],
  ] as const)
    it(`suggests the intended page: ${line}`, async () =>
      expectFailure(await run(line.split(' ')), 2, /^Error: \S.*\nHint: {2}Did you mean/, meant))
})

/** Set by the test runner or by chatctl itself, read by it on Windows alone, or in lower case too. */
const unlisted = new Set([
  ...['CHATCTL_DISABLE_THEME', 'CHATCTL_KEYCHAIN_CALL', 'CHATCTL_CREDENTIAL_COMMAND', 'NODE_V8_COVERAGE'],
  ...['DBUS_SESSION_BUS_ADDRESS', 'XDG_RUNTIME_DIR', 'SystemRoot', 'USERNAME', 'TMP'],
  // Refused, and too long for a page of 40 columns.
  'NODE_TLS_REJECT_UNAUTHORIZED',
  // Whether it is set selects the code cache.
  'NODE_OPTIONS',
  // Set by sudo.
  'SUDO_USER',
  // The default of PGUSER, which the system sets.
  'USER',
  // Set by terminals and by WSL.
  ...['TERM_PROGRAM_VERSION', 'VTE_VERSION', 'WT_SESSION', 'WSL_DISTRO_NAME'],
])

/** `env['NAME']`, `CHATCTL_NAME`, and the names that are destructured from an environment. */
function* variablesIn(text: string): Generator<string> {
  for (const [, name = ''] of text.matchAll(/\benv\??\.?\[?['.]([A-Z][A-Z_0-9]{2,})\b/g)) yield name
  for (const [name] of text.matchAll(/\bCHATCTL_[A-Z_]+[A-Z]\b/g)) yield name
  for (const [, names = ''] of text.matchAll(/\{ ([\w:, ]+) \}(?:: NodeJS\.ProcessEnv| = [\w.#]*env)\b/g))
    for (const [name] of names.matchAll(/\b[A-Z][A-Z_]{2,}\b/g)) yield name
}
