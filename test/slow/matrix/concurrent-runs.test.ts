import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { findCredentials, readProfiles } from '../../support/credential-files.ts'
import { perSuite } from '../../support/lifetime.ts'
import type { Run } from '../../support/run-chatctl.ts'
import { runProgram } from '../../support/run-program.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { takesAll } from '../../support/take-sample.ts'

/** Processes that start at the same moment. A full run has 200. */
const copies = takesAll ? 200 : 12

describe(`${copies} concurrent processes with one home directory`, function () {
  this.timeout(300_000)
  const sandbox = perSuite(createSandbox)
  const runs: { kind: string; index: number; run: Run }[] = []

  /** A quarter of the processes each. */
  const kinds: Record<string, (index: number) => { args: string[]; stdin?: string }> = {
    'sign in': (index) => ({
      args: [...login(`user-${index}`), '--base-url', 'https://chat.example'],
      stdin: `key-${index}\n`,
    }),
    'set an option': (index) => ({
      args: ['config', 'set', 'model', `model-${index}`, '-p', `set-${index}`],
    }),
    'send a message': (index) => ({ args: ['chat', 'send', `message-${index}`, '-p', 'local'] }),
    'change a setting': (index) => ({
      args: ['settings', 'set', `limits.max_tokens=${1000 + index}`, '-p', 'local'],
    }),
  }

  before(async () => {
    const each = Array.from({ length: copies / 4 }, (_, index) => index)
    // Creates the configuration before the processes start.
    for (const index of each.slice(0, 1)) await run(kinds['set an option']?.(index) ?? { args: [] })
    const all = each.flatMap((index) =>
      Object.entries(kinds).map(async ([kind, line]) => {
        runs.push({ kind, index, run: await run(line(index)) })
      }),
    )
    await Promise.all(all)
  })

  const run = ({ args, stdin = '' }: { args: string[]; stdin?: string }) =>
    runProgram(sandbox, args, { stdin, timeout: 240_000 })
  const done = (kind: string) => runs.filter((one) => one.kind === kind && one.run.exitCode === 0)

  it('all succeed', () => {
    for (const { kind, run } of runs) {
      expect(run.exitCode, `${kind}: ${run.stderr}`).to.equal(0)
      expect(run.stderr).not.to.match(/bug in chatctl|^\s+at /m)
    }
  })

  it('store every profile in a valid configuration file', () => {
    const { profiles = {} } = readProfiles(sandbox)
    for (const { index } of done('sign in')) expect(profiles).to.have.property(`user-${index}`)
    for (const { index } of done('set an option')) {
      expect(profiles[`set-${index}`]).to.include({ model: `model-${index}` })
    }
  })

  it('store every credential unchanged', () => {
    const keys = findCredentials(sandbox).map((path) => JSON.parse(readFileSync(path, 'utf8')).key)
    expect(keys.sort()).to.deep.equal(
      done('sign in')
        .map(({ index }) => `key-${index}`)
        .sort(),
    )
  })

  it('store every message', async () => {
    const args = ['history', 'export', '-o', 'json', '-p', 'local']
    const { messages } = JSON.parse((await run({ args })).stdout)
    const said = messages.filter(({ role }: { role: string }) => role === 'user')
    const texts = said.map(({ content }: { content: string }) => content).sort()
    expect(texts).to.deep.equal(
      done('send a message')
        .map(({ index }) => `message-${index}`)
        .sort(),
    )
    expect(messages).to.have.lengthOf(2 * texts.length)
  })

  it('leave the settings of one of them, and an audit entry for each change', async () => {
    const got = await run({ args: ['settings', 'get', 'limits.max_tokens', '-p', 'local'] })
    expect(Number(got.stdout)).to.be.within(1000, 1000 + copies / 4)
    const audit = await run({
      args: ['service', 'audit', '--action', 'settings', '--limit', '1000', '--json'],
    })
    expect(JSON.parse(audit.stdout)).to.have.lengthOf.at.least(done('change a setting').length)
  })

  it('leave no temporary file', () => {
    expect(readProfiles(sandbox).profiles).to.be.an('object')
    const left = readdirSync(join(sandbox.home, '.config', 'chatctl'))
    expect(left).to.deep.equal(['config.json'])
  })
})

function login(profile: string): string[] {
  return ['auth', 'login', '--profile', profile, '--with-api-key', '--insecure-storage', '--no-verify']
}
