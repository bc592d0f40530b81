import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'
import { expect } from 'chai'
import { binary, runChatctl } from '../support/run-chatctl.ts'
import { createSandbox, type Sandbox } from '../support/sandbox.ts'

/** The program on a real terminal of its own, which script(1) makes. */
class Terminal {
  readonly #child: ChildProcess
  readonly #closed: Promise<number | null>
  #shown = ''

  constructor(sandbox: Sandbox, args: readonly string[]) {
    const command = [process.execPath, binary, ...args].map((word) => `'${word}'`).join(' ')
    this.#child = spawn('script', ['--quiet', '--flush', '--return', '--command', command, '/dev/null'], {
      env: { ...sandbox.env, SHELL: '/bin/sh', TERM: 'xterm' },
      cwd: sandbox.home,
    })
    this.#child.stdout?.on('data', (chunk) => {
      this.#shown += chunk
    })
    this.#closed = new Promise((resolve, reject) => {
      this.#child.once('error', reject)
      this.#child.once('close', resolve)
    })
  }

  get shown(): string {
    return stripVTControlCharacters(this.#shown)
  }

  async waitFor(words: string): Promise<void> {
    const deadline = Date.now() + 20_000
    while (!this.shown.includes(words)) {
      if (Date.now() > deadline) throw new Error(`"${words}" was not shown, but: ${this.shown}`)
      await sleep(20)
    }
    // The question is drawn before the keyboard is listened to.
    await sleep(200)
  }

  type(text: string): void {
    this.#child.stdin?.write(text)
  }

  end(): Promise<number | null> {
    return this.#closed
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }
}

describe('on a terminal', () => {
  let sandbox: Sandbox
  let terminal: Terminal | undefined
  beforeEach(() => {
    sandbox = createSandbox()
  })
  afterEach(() => {
    terminal?.kill()
    sandbox.remove()
  })

  const start = (...args: string[]) => {
    terminal = new Terminal(sandbox, args)
    return terminal
  }
  const users = async () => {
    const run = await runChatctl(sandbox, ['service', 'status', '--json'])
    return JSON.parse(run.stdout).users
  }

  it('a password is asked for and never shown', async () => {
    const { type, waitFor, end } = bind(start('users', 'create', '--email', 'ada@example.com', '-p', 'local'))
    await waitFor('Password:')
    type('canary-password\r')
    expect(await end()).to.equal(0)
    expect(terminal?.shown).to.contain('ada@example.com')
    expect(terminal?.shown).not.to.contain('canary')
    expect(await users()).to.equal(2)
  })

  it('Ctrl-C at the password is 130, and nobody is made', async () => {
    const { type, waitFor, end } = bind(start('users', 'create', '--email', 'ada@example.com', '-p', 'local'))
    await waitFor('Password:')
    type('canary')
    type('\u0003')
    expect(await end()).to.equal(130)
    expect(terminal?.shown).not.to.match(/canary|Error|This is a bug/)
    expect(await users()).to.equal(0)
  })

  it('an empty password is refused', async () => {
    const { type, waitFor, end } = bind(start('users', 'create', '--email', 'ada@example.com', '-p', 'local'))
    await waitFor('Password:')
    type('\r')
    expect(await end()).to.equal(2)
    expect(terminal?.shown).to.contain('The password is empty')
    expect(await users()).to.equal(0)
  })

  it('--no-input asks nothing', async () => {
    const { end } = bind(start('users', 'create', '--no-input', '-p', 'local'))
    expect(await end()).to.equal(3)
    expect(terminal?.shown).to.contain('--password-stdin')
  })

  it('a key is revoked after yes, kept after no, after return and after Ctrl-C', async () => {
    const created = await runChatctl(sandbox, ['service', 'keys', 'create', '--name', 'x', '--json'])
    const { id } = JSON.parse(created.stdout)
    const keys = async () =>
      JSON.parse((await runChatctl(sandbox, ['service', 'status', '--json'])).stdout).keys
    for (const [answer, exitCode, left] of [
      ['n\r', 3, 1],
      ['\r', 3, 1],
      ['\u0003', 130, 1],
      ['y\r', 0, 0],
    ] as const) {
      const { type, waitFor, end } = bind(start('service', 'keys', 'revoke', id))
      await waitFor(`Revoke the key ${id} for good?`)
      type(answer)
      expect(await end(), terminal?.shown).to.equal(exitCode)
      expect(await keys()).to.equal(left)
    }
  })

  it('settings may be changed without naming the embedded service', async () => {
    const { end } = bind(start('settings', 'set', 'theme.mode=dark'))
    expect(await end()).to.equal(0)
    expect(terminal?.shown).to.match(/theme\.mode\s+.*dark/)
  })
})

/** The methods of a terminal, to be used on their own. */
function bind(terminal: Terminal) {
  return {
    type: (text: string) => terminal.type(text),
    waitFor: (words: string) => terminal.waitFor(words),
    end: () => terminal.end(),
  }
}
