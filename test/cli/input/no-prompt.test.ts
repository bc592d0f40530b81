import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { type Clock, systemClock } from '../../../src/system/clock.ts'
import { creatingGrace, type ServiceCall, serviceCalls } from '../../support/command-lines.ts'
import { ChatHandler } from '../../support/handlers/chat.ts'
import { createJobPool } from '../../support/job-pool.ts'
import { perSuite, perTest } from '../../support/lifetime.ts'
import { commands, wordsOf } from '../../support/manifest.ts'
import { plantBrowserSession } from '../../support/plant-browser-session.ts'
import {
  type HostOptions,
  type Run,
  type Running,
  runChatctl,
  startChatctl,
} from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import {
  json,
  type ScriptedServer,
  serveHandler,
  startScriptedServer,
} from '../../support/scripted-server.ts'
import { until } from '../../support/until.ts'

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
      const names = commands.map(({ id }) => wordsOf(id).join(' '))
      const name = names.find((one) => args.join(' ').startsWith(`${one} `))
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

const keyboardQuery = '\u001b[?u\u001b[c'
const attributes = '\u001b[?62;22c'
const keysOn = '\u001b[>1u'
const keysOff = '\u001b[<u'
const progressOn = '\u001b]9;4;3\u001b\\'
const progressOff = '\u001b]9;4;0\u001b\\'
const focus = '\u001b[I'
const blur = '\u001b[O'
const ghostty = { TERM: 'xterm-ghostty', TERM_PROGRAM: 'ghostty', TERM_PROGRAM_VERSION: '1.2.3' }

describe('the terminal of a session', () => {
  const world = perTest(
    async () => {
      const [sandbox, server] = [createSandbox(), await serveHandler(new ChatHandler())]
      const sessions: Running[] = []
      const start = async (options: HostOptions = {}): Promise<ReturnType<typeof sessionOf>> => {
        const running = startChatctl(sandbox, ['chat'], {
          ...options,
          terminal: { columns: 80 },
          env: { TERM: 'xterm', CHATCTL_API_KEY: 'a-key', CHATCTL_BASE_URL: server.url, ...options.env },
        })
        sessions.push(running)
        const session = sessionOf(running)
        await session.waitFor(keyboardQuery)
        return session
      }
      const end = async (): Promise<void> => {
        for (const { interrupt } of sessions) interrupt('SIGTERM')
        await Promise.all(sessions.map(({ ended }) => ended))
        await server.close()
        sandbox.remove()
      }
      return { sandbox, server, start, end }
    },
    ({ end }) => end(),
  )

  it('turns on the kitty keyboard protocol if the terminal supports it, and off at the end', async () => {
    const session = await world.start()
    session.type(`\u001b[?0u${attributes}`)
    await session.waitFor(keysOn)
    session.type('one\u001b[13;2u2\r')
    await session.waitFor('You said: one')
    expect(world.server.sends.at(-1)?.message).to.equal('one\n2')
    const { stdout } = await session.leave()
    expect(stdout.split(keysOn)).to.have.length(2)
    expect(stdout.lastIndexOf(keysOff)).to.be.above(stdout.lastIndexOf(keysOn))
    expect(stdout).to.contain('\u001b[?1004l\u001b[?2004l')
  })

  it('sends a message that was typed with Enter before the session began', async () => {
    const session = await world.start()
    session.type(`Hello\n${attributes}`)
    await session.waitFor('You said: Hello')
    expect(world.server.sends.at(-1)?.message).to.equal('Hello')
    session.type('one\ntwo\r')
    await session.waitFor('You said: one')
    expect(world.server.sends.at(-1)?.message).to.equal('one\ntwo')
    await session.leave()
  })

  it('does not turn it on if the terminal names its attributes first, and queries it only once', async () => {
    const session = await world.start({ env: { TERM: 'xterm-kitty' } })
    session.type(`${attributes}Hello\r`)
    await session.waitFor('You said: Hello')
    expect(world.server.sends.at(-1)?.message).to.equal('Hello')
    const { stdout } = await session.leave()
    expect(stdout).not.to.contain(keysOn).and.not.to.contain(keysOff)
    expect(stdout.split(keyboardQuery)).to.have.length(2)
  })

  it('takes the reply before it leaves, so that the shell does not receive it', async () => {
    const sleepers: (() => void)[] = []
    const clock: Clock = {
      ...systemClock,
      monotonic: () => 0,
      sleep: (_, signal) =>
        new Promise((resolve, reject) => {
          sleepers.push(resolve)
          signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
        }),
    }
    const session = await world.start({ host: { clock } })
    session.type('\u0004')
    await until(() => sleepers.length === 1)
    expect(session.isRaw()).to.equal(true)
    session.type(attributes)
    await session.ended
    expect(session.isRaw()).to.equal(false)
    const silent = await world.start({ host: { clock } })
    silent.type('\u0004')
    await until(() => sleepers.length === 2)
    for (const wake of sleepers) wake()
    await silent.ended
    expect(silent.isRaw()).to.equal(false)
  })

  it('rings the bell for Ctrl-Z on Windows, which cannot suspend a process', async () => {
    const raise = () => expect.fail('raised')
    const session = await world.start({ env: { TERM: undefined }, host: { platform: 'win32', raise } })
    session.type(`${attributes}Hel\u001alo\r`)
    await session.waitFor('You said: Hello')
    expect(session.shown()).to.contain('\u0007')
    expect((await session.leave()).exitCode).to.equal(0)
  })

  it('shows progress while a reply arrives, in a terminal that can', async () => {
    const session = await world.start({ env: ghostty })
    const answer = world.server.answerNext({ text: ['One ', 'two.'], held: true })
    session.type(`${attributes}Hello\r`)
    await answer.begun
    await session.waitFor(progressOn)
    expect(session.shown()).not.to.contain(progressOff)
    answer.release()
    await session.waitFor(progressOff)
    expect(session.shown().split(progressOn)).to.have.length(2)
  })

  for (const [name, env] of [
    ['does not support it', { TERM_PROGRAM: 'Apple_Terminal' }],
    ['is too old for it', { ...ghostty, TERM_PROGRAM_VERSION: '1.1.9' }],
  ] as const)
    it(`shows no progress if the terminal ${name}`, async () => {
      const session = await world.start({ env })
      session.type(`${attributes}Hello\r`)
      await session.waitFor('You said: Hello')
      expect((await session.leave()).stdout).not.to.contain('\u001b]9;4')
    })

  /** Sends messages whose replies take these times in ms, after the terminal has sent something. */
  const converse = async (
    env: NodeJS.ProcessEnv,
    turns: readonly (readonly [sent: string, ms: number])[],
  ): Promise<string[]> => {
    let passed = 0
    const clock: Clock = { ...systemClock, monotonic: () => performance.now() + passed }
    const session = await world.start({ env, host: { clock } })
    session.type(attributes)
    const shown: string[] = []
    for (const [index, [sent, ms]] of turns.entries()) {
      const answer = world.server.answerNext({ text: `About ${index}.`, held: true })
      const before = session.shown().length
      session.type(`${sent}${index}\r`)
      await answer.begun
      passed += ms
      answer.release()
      await session.waitFor(new RegExp(`About ${index}\\.[^]*total[^]*> `))
      shown.push(session.shown().slice(before))
    }
    return shown
  }
  const messages = ['', blur, focus, blur]
  const turns = [30_000, 1_000, 30_000, 30_000].map((ms, index) => [messages[index] ?? '', ms] as const)

  for (const [env, notification] of [
    [ghostty, '\u001b]777;notify;chatctl;Ready for your next message\u001b\\'],
    [{ TERM_PROGRAM: 'iTerm.app' }, '\u001b]9;chatctl: Ready for your next message\u001b\\'],
    [{ TERM: 'tmux-256color', TERM_PROGRAM: 'tmux' }, '\u0007'],
  ] as const)
    it(`sends ${JSON.stringify(notification)} after a long reply if the window is not in use`, async () => {
      const shown = await converse(env, turns)
      expect(shown.map((part) => part.includes(notification))).to.deep.equal([false, false, false, true])
    })
})

/** A session whose terminal is the test. */
function sessionOf(running: Running) {
  const shown = () => running.written().stdout
  const type = (text: string) => void running.stdin.write(text)
  const isShown = (words: string | RegExp) =>
    typeof words === 'string' ? shown().includes(words) : words.test(shown())
  return {
    ...{ shown, type, ended: running.ended },
    isRaw: () => (running.stdin as unknown as NodeJS.ReadStream).isRaw,
    waitFor: (words: string | RegExp) =>
      until(() => isShown(words)).catch(() => {
        throw new Error(`waited for ${JSON.stringify(String(words))} in ${JSON.stringify(shown())}`)
      }),
    leave() {
      type('\u0015\u0004')
      return running.ended
    },
  }
}
