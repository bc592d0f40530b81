import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from '@oclif/core/parser'
import { expect } from 'chai'
import { markOmittedValues } from '../../../src/cli/mark-omitted-values.ts'
import { readCatalog } from '../../../src/cli/unknown-command/command-catalog.ts'
import { depthOf } from '../../../src/cli/unknown-command/unknown-command.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox, type Sandbox } from '../../support/sandbox.ts'
import { sourceInstallation, sourceProgram } from '../../support/source-program.ts'

/** Command lines from the habits of other tools, each with the expected message and hint. */
const table = new URL('guesses.txt', import.meta.url)
const update = process.env['CHATCTL_UPDATE_GOLDEN'] === '1'

interface Guess {
  line: string
  expected: string
}

const guesses: Guess[] = readFileSync(table, 'utf8')
  .split(/^\$ chatctl /m)
  .slice(1)
  .map((block) => {
    const [line = '', ...expected] = block.trimEnd().split('\n')
    return { line, expected: expected.join('\n') }
  })

/** Splits a line into words as a shell does, without escapes in double quotes. */
function splitWords(line: string): string[] {
  const words = line.match(/(?:'[^']*'|"[^"]*"|\\'|[^\s'"])+/g) ?? []
  return words.map((word) =>
    word.replaceAll(/'([^']*)'|"([^"]*)"|\\'/g, (_, single, double) => single ?? double ?? "'"),
  )
}

/** The command lines of a hint, each without `chatctl`. */
function commandsIn(hint: string): string[] {
  const found = hint.matchAll(/(?:^(?=chatctl --)|: |, or )chatctl (.*?)(?=, or chatctl|\. [A-Z]|\.?$)/g)
  return [...found].map(([, line = '']) => line)
}

const catalog = readCatalog(sourceInstallation)

/** @throws an error for a command line that names no command, or that its command refuses */
async function parseCommand(line: string): Promise<void> {
  const words = splitWords(line)
  const named = words.slice(0, depthOf(words, catalog))
  const id = named.join(':')
  const rest = words.slice(named.length)
  if (rest.length === 0 && !catalog.has(id)) return
  if (rest.length === 1 && (rest[0] === '--help' || (rest[0] === '--version' && id === ''))) return
  expect(catalog.has(id), `chatctl ${line} names a command`).to.equal(true)
  const command = sourceProgram.loadCommand(id)
  const flags = { ...command.baseFlags, ...command.flags }
  await parse(markOmittedValues(rest, flags), {
    args: command.args,
    flags,
    strict: command.strict,
  })
}

describe('a guess from the habits of another tool', () => {
  let sandbox: Sandbox
  before(() => {
    sandbox = createSandbox()
  })
  after(() => {
    sandbox.remove()
    if (!update) return
    writeFileSync(table, guesses.map(({ line, expected }) => `$ chatctl ${line}\n${expected}\n`).join('\n'))
  })

  for (const guess of guesses) {
    it(`exits 2 with the right hint: chatctl ${guess.line}`, async () => {
      const args = splitWords(guess.line)
      const run = await runChatctl(sandbox, args)
      expectFailure(run, 2)
      if (update) guess.expected = run.stderr.trimEnd()
      else expect(run.stderr.trimEnd()).to.equal(guess.expected)
      const [, message, hint] = /^Error: (.*)\n(?:Hint: {2}(.*)\n)?$/.exec(run.stderr) ?? []
      for (const line of commandsIn(hint ?? '')) await parseCommand(line)
      // A line that gives an output format has priority over the variable.
      if (/--output=| -o/.test(guess.line)) return
      const json = await runChatctl(sandbox, args, { env: { CHATCTL_OUTPUT: 'json' } })
      expect(json).to.include({ exitCode: 2, stdout: '' })
      const { error } = JSON.parse(json.stderr)
      expect({ message: error.message, hint: error.hint }).to.deep.equal({ message, hint })
    })
  }

  it('creates no data and no configuration', () => {
    expect(existsSync(join(sandbox.home, '.local'))).to.equal(false)
    expect(existsSync(join(sandbox.home, '.config', 'chatctl', 'config.json'))).to.equal(false)
  })

  it('is not repeated in the error if it may be a secret', async () => {
    for (const line of [
      'login sk-canary',
      'auth login ck_canary',
      'users add --password canary',
      'sk-canary',
    ]) {
      const { stdout, stderr } = await runChatctl(sandbox, line.split(' '))
      expect(stdout + stderr).not.to.contain('canary')
    }
  })
})
