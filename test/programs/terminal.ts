import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'
import { binary } from '../support/run-chatctl.ts'
import type { Sandbox } from '../support/sandbox.ts'

/** The program in a real terminal, which script(1) creates. Its methods can be passed on. */
export class Terminal {
  readonly #child: ChildProcess
  readonly #closed: Promise<number | null>
  #shown = ''

  constructor(sandbox: Sandbox, args: readonly string[], env: NodeJS.ProcessEnv = {}) {
    const command = [process.execPath, binary, ...args].map((word) => `'${word}'`).join(' ')
    this.#child = spawn('script', ['--quiet', '--flush', '--return', '--command', command, '/dev/null'], {
      env: { ...sandbox.env, ...env, SHELL: '/bin/sh', TERM: 'xterm' },
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

  readonly waitFor = async (words: string): Promise<void> => {
    const deadline = Date.now() + 20_000
    while (!this.shown.includes(words)) {
      if (Date.now() > deadline) throw new Error(`"${words}" was not shown, but: ${this.shown}`)
      await sleep(20)
    }
    // The prompt is drawn before the program reads the keyboard.
    await sleep(200)
  }

  readonly type = (text: string): void => void this.#child.stdin?.write(text)

  readonly end = (): Promise<number | null> => this.#closed

  kill(): void {
    this.#child.kill('SIGKILL')
  }
}
