import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { createJobPool } from '../support/job-pool.ts'
import { commands, topics, wordsOf } from '../support/manifest.ts'
import { type Run, runChatctl } from '../support/run-chatctl.ts'
import { createSandbox, type Sandbox } from '../support/sandbox.ts'

/** CHATCTL_UPDATE_GOLDEN=1 writes the files anew; read them before you commit them. */
const golden = join(import.meta.dirname, 'help')
const updates = process.env['CHATCTL_UPDATE_GOLDEN'] === '1'

const visible = commands.filter(({ hidden }) => !hidden)
// `chat` is a topic and a command.
const pages = [...new Set(['', ...topics, ...visible.map(({ id }) => wordsOf(id).join(' '))])]

describe('help', function () {
  this.timeout(60_000)
  let sandbox: Sandbox
  const inTurn = createJobPool(4)
  const run = (args: readonly string[]): Promise<Run> =>
    inTurn(() => runChatctl(sandbox, args, { env: { COLUMNS: '80', FORCE_COLOR: '0', OCLIF_COLUMNS: '80' } }))
  const shown = new Map<string, Promise<[Run, Run]>>()

  before(() => {
    sandbox = createSandbox()
    for (const page of pages) {
      const words = page.split(' ').filter(Boolean)
      shown.set(page, Promise.all([run([...words, '--help']), run(['help', ...words])]))
    }
  })
  after(() => sandbox.remove())

  for (const page of pages) {
    it(`of chatctl ${page}`, async () => {
      const [flag, command] = (await shown.get(page)) ?? []
      expect(flag).to.include({ exitCode: 0, stderr: '' })
      expect(command).to.deep.equal(flag)
      const text = withoutVersion(flag?.stdout ?? '')
      const path = join(golden, `${page.replaceAll(' ', '-') || 'chatctl'}.txt`)
      if (updates) {
        mkdirSync(golden, { recursive: true })
        writeFileSync(path, text)
      }
      expect(text).to.equal(readFileSync(path, 'utf8'))
      for (const line of text.split('\n').filter((one) => !one.trim().startsWith('$ ')))
        expect(line.length, line).to.be.at.most(80)
    })
  }

  it('has no page for what is not there', () => {
    const expected = pages.map((page) => `${page.replaceAll(' ', '-') || 'chatctl'}.txt`)
    expect(readdirSync(golden).sort()).to.deep.equal(expected.sort())
  })

  for (const { id, summary, examples } of visible) {
    it(`says what ${wordsOf(id).join(' ')} does, with an example`, () => {
      expect(summary).to.match(/^[A-Z].*\.$/)
      expect(examples).to.have.length.at.least(1)
      for (const example of examples ?? []) expect(example).to.contain('<%= config.bin %>')
    })

    it(`describes every flag of ${wordsOf(id).join(' ')} in a sentence`, () => {
      const flags = commands.find((command) => command.id === id)?.flags ?? {}
      for (const flag of Object.values(flags) as { name: string; summary?: string }[])
        expect(flag.summary, flag.name).to.match(/^(\[env: \w+\] )?\S.*\.$/)
    })
  }

  it('is shown for nothing at all, for a topic alone, and by -h', async () => {
    const same: [string, string[]][] = [
      ['', []],
      ['settings', ['settings']],
      ['settings get', ['settings', 'get', '-h']],
    ]
    for (const [page, args] of same) expect(await run(args)).to.deep.equal((await shown.get(page))?.[0])
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
    it(`says what was meant by: ${args.join(' ')}`, async () => {
      const { exitCode, stdout, stderr } = await run(args)
      expect({ exitCode, stdout }, stderr).to.deep.equal({ exitCode: 2, stdout: '' })
      if (!args.includes('--json')) expect(stderr).to.match(/^Error: \S.*\nHint: Did you mean/)
      else expect(JSON.parse(stderr).error).to.include({ code: 'usage' })
      expect(stderr).to.contain(meant)
    })
  }
})

function withoutVersion(text: string): string {
  return text.replace(/^ {2}chatctl\/.*$/m, '  chatctl/VERSION')
}
