import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { creatingGrace, type ServiceCall, serviceCalls } from '../../support/command-lines.ts'
import { createJobPool } from '../../support/job-pool.ts'
import { perSuite } from '../../support/lifetime.ts'
import { commands, wordsOf } from '../../support/manifest.ts'
import { plantBrowserSession } from '../../support/plant-browser-session.ts'
import { type Run, runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { json, type ScriptedServer, startScriptedServer } from '../../support/scripted-server.ts'

/** Without a terminal, nothing prompts or hangs. A run that needs input names the flag that gives it. */

/** A file in the working directory of the run. */
const usersFile = 'users.csv'

/** Calls that need input, and the flags that give it. KEY and SESSION are replaced by IDs that exist. */
const questions: { args: string[]; flags: string[]; others?: string[][] }[] = [
  {
    args: ['users', 'create', '--email', 'ada@example.com'],
    flags: ['--password-stdin', '--password-file', '--generate-password', '--no-password'],
  },
  { args: ['service', 'admin', 'create', 'ada@example.com'], flags: ['--password-stdin', '--password-file'] },
  {
    args: ['service', 'users', 'reset', 'usr_admin', '--keep-password'],
    flags: ['--yes'],
    others: [['--password-stdin', '--password-file']],
  },
  { args: ['service', 'users', 'disable', 'USER'], flags: ['--yes'] },
  { args: ['service', 'users', 'delete', 'USER'], flags: ['--yes'] },
  { args: ['service', 'users', 'offboard', 'USER', '--export', 'user.json'], flags: ['--yes'] },
  { args: ['service', 'keys', 'revoke', 'KEY'], flags: ['--yes'] },
  { args: ['service', 'sessions', 'revoke', 'SESSION'], flags: ['--yes'] },
  { args: ['settings', 'apply', 'settings.yaml'], flags: ['--yes'] },
  { args: ['settings', 'edit'], flags: ['--yes'] },
  { args: ['users', 'import', usersFile], flags: ['--yes'] },
]

const ways: [string, NodeJS.ProcessEnv, string[]][] = [
  ['empty stdin', {}, []],
  ['--no-input', {}, ['--no-input']],
  ['CHATCTL_NO_INPUT', { CHATCTL_NO_INPUT: '1' }, []],
]

describe('a non-interactive run', function () {
  this.timeout(90_000)
  const sandbox = perSuite(createSandbox)
  let server: ScriptedServer
  let env: NodeJS.ProcessEnv
  const inTurn = createJobPool(4)
  const ids = new Map<string, string>()

  before(async () => {
    writeFileSync(join(sandbox.home, 'settings.yaml'), 'theme: { mode: light }\n')
    writeFileSync(join(sandbox.home, usersFile), 'email\nada@example.com\n')
    const script = {
      choose: ({ method, path }: { method: string; path: string }) =>
        json(200, findCall(method, path)?.answer ?? {}),
    }
    const made = await runChatctl(sandbox, ['service', 'keys', 'create', '--name', 'x', '--jq', '.id'])
    ids.set('KEY', made.stdout.trim())
    ids.set('USER', (await runChatctl(sandbox, creatingGrace)).stdout.trim())
    ids.set('SESSION', await plantBrowserSession(join(sandbox.home, '.local/share/chatctl')))
    server = await startScriptedServer(script)
    env = { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'some-key' }
  })
  after(() => server.close())

  const run = (args: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<Run> =>
    inTurn(() => {
      const words = args.map((word) => ids.get(word) ?? word)
      return runChatctl(sandbox, words, { env: { ...env, ...more }, timeout: 15_000 })
    })

  it('needs a flag of each list that chatctl commands prints', async () => {
    for (const { args, flags, others = [] } of questions) {
      const name = commands
        .map(({ id }) => wordsOf(id).join(' '))
        .find((one) => args.join(' ').startsWith(`${one} `))
      const { stdout } = await run(['commands', name ?? args.join(' '), '--jq', '.[0].non_interactive'])
      expect(JSON.parse(stdout)).to.deep.equal([flags, ...others])
    }
  })

  for (const [way, more, flags] of ways) {
    for (const { args, flags: answers } of questions)
      it(`of ${args.join(' ')} exits 3 and names the flags to use, with ${way}`, async () => {
        const plain = await run([...args, ...flags], more)
        expect(plain).to.include({ exitCode: 3, stdout: '' })
        const structured = await run([...args, ...flags, '--json'], more)
        expect(structured).to.include({ exitCode: 3, stdout: '' })
        const { error } = JSON.parse(structured.stderr.trim().split('\n').at(-1) ?? '')
        expect(error.code).to.equal('input_needed')
        for (const answer of answers) {
          expect(plain.stderr).to.contain(answer)
          expect(error.hint).to.contain(answer)
        }
      })
  }
})

function findCall(method: string, path: string): ServiceCall | undefined {
  return serviceCalls.find(({ endpoint }) => endpoint === `${method} ${path.split('?')[0]}`)
}
