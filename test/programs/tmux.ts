import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { binary } from '../support/run-chatctl.ts'
import type { Sandbox } from '../support/sandbox.ts'

const run = promisify(execFile)

export interface TmuxOptions {
  columns?: number
  rows?: number
  env?: NodeJS.ProcessEnv
}

/** The default timeout of a wait, in milliseconds. */
const patience = 20_000
let started = 0

/**
 * The program in a separate terminal emulator, which shows what a person sees.
 * Times and order are real, so wait for text, never for a time.
 */
export class Tmux {
  readonly #socket: string
  readonly #env: NodeJS.ProcessEnv

  constructor(socket: string, env: NodeJS.ProcessEnv) {
    this.#socket = socket
    this.#env = env
  }

  /** Runs chatctl. */
  static start(sandbox: Sandbox, args: readonly string[], options: TmuxOptions = {}): Promise<Tmux> {
    return Tmux.run(sandbox, [process.execPath, binary, ...args], options)
  }

  /** Runs any program. Its screen stays when it has ended. */
  static async run<T extends Tmux>(
    this: new (
      ...given: ConstructorParameters<typeof Tmux>
    ) => T,
    sandbox: Sandbox,
    command: readonly string[],
    { columns = 80, rows = 24, env = {} }: TmuxOptions = {},
  ): Promise<T> {
    started += 1
    const terminal = new this(`chatctl-${process.pid}-${started}`, {
      ...sandbox.env,
      LANG: 'C.UTF-8',
      SHELL: '/bin/sh',
      // The directory of the sockets.
      TMUX_TMPDIR: sandbox.home,
    })
    const settings = [
      ['set-option', '-g', 'history-limit', '100000'],
      ['set-option', '-g', 'default-terminal', 'tmux-256color'],
      ['set-option', '-g', 'remain-on-exit', 'on'],
      ['set-option', '-g', 'remain-on-exit-format', ''],
      ['set-option', '-g', 'status', 'off'],
    ]
    const size = ['-x', `${columns}`, '-y', `${rows}`]
    // env(1), because tmux sets TERM and others itself.
    const words = ['env', ...Object.entries(env).map(([name, value]) => `${name}=${value ?? ''}`), ...command]
    await terminal.#tmux(
      'start-server',
      ...settings.flatMap((setting) => [';', ...setting]),
      ...[';', 'new-session', '-d', ...size, '-c', sandbox.home, '--', ...words],
    )
    return terminal
  }

  /** Presses the keys of a text, in which `\n` is Ctrl-J. */
  async type(text: string): Promise<void> {
    // tmux reads a semicolon at the end of a word as the end of a command.
    await this.#tmux('send-keys', '-l', '--', text.replace(/;$/, '\\;'))
  }

  /** Presses keys by the names of tmux, such as `C-c`, `M-Enter`, `BSpace`, and `Up`. */
  async key(...names: string[]): Promise<void> {
    await this.#tmux('send-keys', '--', ...names)
  }

  /** Types a text and presses Enter. */
  async say(text: string): Promise<void> {
    await this.type(text)
    await this.key('Enter')
  }

  /** Pastes a text: in brackets if the program has requested them, and otherwise as if typed. */
  async paste(text: string): Promise<void> {
    const loading = this.#tmux('load-buffer', '-')
    loading.child.stdin?.end(text)
    await loading
    await this.#tmux('paste-buffer', '-p', '-d')
  }

  async resize(columns: number, rows = 24): Promise<void> {
    await this.#tmux('resize-window', '-x', `${columns}`, '-y', `${rows}`)
  }

  /** The text on the screen, without spaces at line ends and empty lines at the end. */
  screen(): Promise<string> {
    return this.#capture()
  }

  /** The screen with everything that has scrolled away. */
  scrollback(): Promise<string> {
    return this.#capture('-S', '-')
  }

  /** The same, with the lines joined that the terminal has wrapped, but not those wrapped by the program. */
  joined(): Promise<string> {
    return this.#capture('-S', '-', '-J')
  }

  /** The screen with its styles, in which `␛` is the escape character. */
  async styledScreen(): Promise<string> {
    return showEscapes(await this.#capture('-e'))
  }

  /** Waits, at most `atMost` ms, until the words are on the screen, and returns the screen. */
  waitFor(words: string | RegExp, atMost = patience): Promise<string> {
    return this.waitUntil((screen) => matches(screen, words), `${words} to be shown`, atMost)
  }

  /** Waits until the words have disappeared from the screen. */
  waitForNo(words: string | RegExp): Promise<string> {
    return this.waitUntil((screen) => !matches(screen, words), `${words} to go`)
  }

  /** Waits until the screen, without what has scrolled away, meets a condition. */
  waitUntil(wanted: (screen: string) => boolean, words = 'the screen', atMost = patience): Promise<string> {
    return this.#poll(() => this.screen(), wanted, words, atMost)
  }

  /** The same, with what has scrolled away. */
  waitUntilShown(wanted: (all: string) => boolean, words: string): Promise<string> {
    return this.#poll(() => this.scrollback(), wanted, words)
  }

  /** Waits until nothing has changed for `ms` milliseconds. */
  async settle(ms = 150): Promise<string> {
    let last = await this.#capture('-e', '-S', '-')
    let since = Date.now()
    while (Date.now() - since < ms) {
      await sleep(20)
      const now = await this.#capture('-e', '-S', '-')
      if (now !== last) since = Date.now()
      last = now
    }
    return await this.screen()
  }

  /** The position of the cursor, from 0, 0 in the upper left corner. */
  async cursor(): Promise<{ row: number; column: number }> {
    const [row = '', column = ''] = (await this.query('#{cursor_y} #{cursor_x}')).split(' ')
    return { row: Number(row), column: Number(column) }
  }

  /** The process ID of the program that tmux started. */
  async pid(): Promise<number> {
    return Number(await this.query('#{pane_pid}'))
  }

  /** Waits for the end of the program. 130 if it was ended by SIGINT, as in a shell; null for another signal. */
  async exitCode(): Promise<number | null> {
    const deadline = Date.now() + patience
    for (;;) {
      const format = '#{pane_dead},#{pane_dead_status},#{pane_dead_signal},#{pid}'
      const [dead, status, signal, server] = (await this.query(format)).split(',')
      if (status) return Number(status)
      if (signal) return /^(2|INT)$/i.test(signal) ? 130 : null
      // tmux 3.3 may miss the end of its child, and checks again after SIGCHLD.
      if (dead === '1') process.kill(Number(server), 'SIGCHLD')
      if (Date.now() > deadline) throw new Error(`it has not ended; there was:\n${await this.screen()}`)
      await sleep(15)
    }
  }

  /** Records what the program writes from now on. Returns a function that reads it, with `␛` for the escape character. */
  async record(path: string): Promise<() => string> {
    writeFileSync(path, '')
    await this.#tmux('pipe-pane', '-O', `exec cat >> '${path}'`)
    return () => showEscapes(readFileSync(path, 'utf8'))
  }

  /** Allows the program to set the clipboard of the terminal (OSC 52). */
  async allowClipboard(): Promise<void> {
    await this.#tmux('set-option', '-s', 'set-clipboard', 'on')
  }

  async clipboard(): Promise<string> {
    return (await this.#tmux('show-buffer')).stdout
  }

  /** Ends the program and its terminal. */
  async close(): Promise<void> {
    await this.#tmux('kill-server').catch(() => {})
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #poll(
    look: () => Promise<string>,
    wanted: (seen: string) => boolean,
    words: string,
    atMost = patience,
  ): Promise<string> {
    const deadline = Date.now() + atMost
    for (;;) {
      // A program that has ended shows nothing more, so this is checked before the last look.
      const isOver = (await this.query('#{pane_dead}')) === '1' || Date.now() > deadline
      const seen = await look()
      if (wanted(seen)) return seen
      if (isOver) throw new Error(`waited for ${words}, but there was:\n${seen}`)
      await sleep(15)
    }
  }

  async #capture(...options: string[]): Promise<string> {
    const { stdout } = await this.#tmux('capture-pane', '-p', ...options)
    return stdout.replace(/[ \t]+$/gm, '').trimEnd()
  }

  /** A value that tmux knows, in its format syntax. */
  async query(format: string): Promise<string> {
    return (await this.#tmux('display-message', '-p', format)).stdout.trim()
  }

  #tmux(...args: string[]) {
    const words = ['-u', '-L', this.#socket, '-f', '/dev/null', ...args]
    return run('tmux', words, { env: this.#env, maxBuffer: 2 ** 28, encoding: 'utf8' })
  }
}

function showEscapes(text: string): string {
  return text.replaceAll('\u001b', '␛')
}

function matches(screen: string, words: string | RegExp): boolean {
  return typeof words === 'string' ? screen.includes(words) : words.test(screen)
}
