import { expect } from 'chai'
import type { Clock } from '../../../src/system/clock.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { ChatHandler } from '../../support/handlers/chat.ts'
import { perTest } from '../../support/lifetime.ts'
import { type HostOptions, type Running, startChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { serveHandler } from '../../support/scripted-server.ts'
import { until } from '../../support/until.ts'

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
      const start = async (options: HostOptions = {}): Promise<Session> => {
        const running = startChatctl(sandbox, ['chat'], {
          ...options,
          terminal: { columns: 80 },
          env: { TERM: 'xterm', CHATCTL_API_KEY: 'a-key', CHATCTL_BASE_URL: server.url, ...options.env },
        })
        sessions.push(running)
        const session = new Session(running)
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
    expect(session.isRaw).to.equal(true)
    session.type(attributes)
    await session.ended
    expect(session.isRaw).to.equal(false)
    const silent = await world.start({ host: { clock } })
    silent.type('\u0004')
    await until(() => sleepers.length === 2)
    for (const wake of sleepers) wake()
    await silent.ended
    expect(silent.isRaw).to.equal(false)
  })

  it('rings the bell for Ctrl-Z on Windows, which cannot suspend a process', async () => {
    const raise = () => expect.fail('raised')
    const session = await world.start({ env: { TERM: undefined }, host: { platform: 'win32', raise } })
    session.type(`${attributes}Hel\u001alo\r`)
    await session.waitFor('You said: Hello')
    expect(session.shown).to.contain('\u0007')
    expect((await session.leave()).exitCode).to.equal(0)
  })

  it('shows progress while a reply arrives, in a terminal that can', async () => {
    const session = await world.start({ env: ghostty })
    const answer = world.server.answerNext({ text: ['One ', 'two.'], held: true })
    session.type(`${attributes}Hello\r`)
    await answer.begun
    await session.waitFor(progressOn)
    expect(session.shown).not.to.contain(progressOff)
    answer.release()
    await session.waitFor(progressOff)
    expect(session.shown.split(progressOn)).to.have.length(2)
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
      const before = session.shown.length
      session.type(`${sent}${index}\r`)
      await answer.begun
      passed += ms
      answer.release()
      await session.waitFor(new RegExp(`About ${index}\\.[^]*total[^]*> `))
      shown.push(session.shown.slice(before))
    }
    return shown
  }
  const turns = [
    ['', 30_000],
    [blur, 1_000],
    [focus, 30_000],
    [blur, 30_000],
  ] as const

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
class Session {
  readonly #running: Running

  constructor(running: Running) {
    this.#running = running
  }

  get shown(): string {
    return this.#running.written().stdout
  }

  get isRaw(): boolean {
    return (this.#running.stdin as unknown as NodeJS.ReadStream).isRaw
  }

  get ended() {
    return this.#running.ended
  }

  get interrupt() {
    return this.#running.interrupt
  }

  type(text: string): void {
    this.#running.stdin.write(text)
  }

  async waitFor(words: string | RegExp): Promise<void> {
    await until(() =>
      typeof words === 'string' ? this.shown.includes(words) : words.test(this.shown),
    ).catch(() => {
      throw new Error(`waited for ${JSON.stringify(String(words))} in ${JSON.stringify(this.shown)}`)
    })
  }

  leave() {
    this.type('\u0015\u0004')
    return this.ended
  }
}
