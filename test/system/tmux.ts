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

export interface Cursor {
  row: number
  column: number
}

/** Milliseconds after which what is waited for counts as not coming. */
const patience = 20_000
let started = 0

/**
 * The program in a terminal emulator of its own: what is asked of it here is what a person sees.
 * Times and order are real, so wait for words, never for a time.
 */
export class Tmux {
  readonly #socket: string
  readonly #env: NodeJS.ProcessEnv

  private constructor(socket: string, env: NodeJS.ProcessEnv) {
    this.#socket = socket
    this.#env = env
  }

  /** Runs chatctl. */
  static start(sandbox: Sandbox, args: readonly string[], options: TmuxOptions = {}): Promise<Tmux> {
    return Tmux.run(sandbox, [process.execPath, binary, ...args], options)
  }

  /** Runs any program; what it leaves on the screen stays when it has ended. */
  static async run(sandbox: Sandbox, command: readonly string[], options: TmuxOptions = {}): Promise<Tmux> {
    const { columns = 80, rows = 24, env = {} } = options
    started += 1
    const terminal = new Tmux(`chatctl-${process.pid}-${started}`, {
      ...sandbox.env,
      LANG: 'C.UTF-8',
      SHELL: '/bin/sh',
      // The folder of the sockets.
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
    const words = ['env', ...Object.entries(env).map(([name, value]) => `${name}=${value}`), ...command]
    await terminal.#tmux(
      'start-server',
      ...settings.flatMap((setting) => [';', ...setting]),
      ...[';', 'new-session', '-d', ...size, '-c', sandbox.home, '--', ...words],
    )
    return terminal
  }

  /** Presses the keys of a text; a `\n` in it is Ctrl-J. */
  async type(text: string): Promise<void> {
    // tmux takes a semicolon at the end of a word for the end of a command.
    await this.#tmux('send-keys', '-l', '--', text.replace(/;$/, '\\;'))
  }

  /** Presses keys by tmux's names, such as `C-c`, `M-Enter`, `BSpace`, `Up`. */
  async key(...names: string[]): Promise<void> {
    await this.#tmux('send-keys', '--', ...names)
  }

  /** Types a text and presses Enter. */
  async say(text: string): Promise<void> {
    await this.type(text)
    await this.key('Enter')
  }

  /** Pastes: in brackets where the program has asked for them, else as if typed, as terminals do. */
  async paste(text: string): Promise<void> {
    const loading = this.#tmux('load-buffer', '-')
    loading.child.stdin?.end(text)
    await loading
    await this.#tmux('paste-buffer', '-p', '-d')
  }

  async resize(columns: number, rows = 24): Promise<void> {
    await this.#tmux('resize-window', '-x', `${columns}`, '-y', `${rows}`)
  }

  /** What is on the screen, without the spaces at the ends of lines and the empty lines below. */
  screen(): Promise<string> {
    return this.#capture()
  }

  /** What has scrolled away, and the screen. */
  scrollback(): Promise<string> {
    return this.#capture('-S', '-')
  }

  /** The same, with each line whole that the terminal, not the program, has wrapped. */
  joined(): Promise<string> {
    return this.#capture('-S', '-', '-J')
  }

  /** The screen with its styles, `␛` for the escape character. */
  async styledScreen(): Promise<string> {
    return showEscapes(await this.#capture('-e'))
  }

  /** Waits until the words are on the screen, at most some milliseconds; gives back the screen. */
  waitFor(words: string | RegExp, atMost = patience): Promise<string> {
    return this.waitUntil((screen) => matches(screen, words), `${words} to be shown`, atMost)
  }

  /** Waits until the words are on the screen no more. */
  waitForNo(words: string | RegExp): Promise<string> {
    return this.waitUntil((screen) => !matches(screen, words), `${words} to go`)
  }

  /** Waits until the screen, what has scrolled away not included, is as wanted. */
  waitUntil(wanted: (screen: string) => boolean, words = 'the screen', atMost = patience): Promise<string> {
    return this.#poll(() => this.screen(), wanted, words, atMost)
  }

  /** The same with what has scrolled away. */
  waitUntilShown(wanted: (all: string) => boolean, words: string): Promise<string> {
    return this.#poll(() => this.scrollback(), wanted, words)
  }

  /** Waits until nothing has changed for some milliseconds. */
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

  /** Counted from the upper left corner, which is 0, 0. */
  async cursor(): Promise<Cursor> {
    const [row = '', column = ''] = (await this.ask('#{cursor_y} #{cursor_x}')).split(' ')
    return { row: Number(row), column: Number(column) }
  }

  /** Of the program, that is, of what tmux started. */
  async pid(): Promise<number> {
    return Number(await this.ask('#{pane_pid}'))
  }

  /** Waits for the program's end. 130 where it died of Ctrl-C, as a shell says it; null for another signal. */
  async exitCode(): Promise<number | null> {
    const deadline = Date.now() + patience
    for (;;) {
      const [dead, status, signal, server] = (
        await this.ask('#{pane_dead},#{pane_dead_status},#{pane_dead_signal},#{pid}')
      ).split(',')
      if (status) return Number(status)
      if (signal) return /^(2|INT)$/i.test(signal) ? 130 : null
      // tmux 3.3 may miss that its child has ended, and looks again when told so.
      if (dead === '1') process.kill(Number(server), 'SIGCHLD')
      if (Date.now() > deadline) {
        throw new Error(`the program has not ended; there was:\n${await this.screen()}`)
      }
      await sleep(15)
    }
  }

  /** Keeps all that the program writes from now on; gives back how to read it, `␛` for the escape character. */
  async record(path: string): Promise<() => string> {
    writeFileSync(path, '')
    await this.#tmux('pipe-pane', '-O', `exec cat >> '${path}'`)
    return () => showEscapes(readFileSync(path, 'utf8'))
  }

  /** Lets the program fill the terminal's clipboard (OSC 52). */
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

  async #poll(
    look: () => Promise<string>,
    wanted: (seen: string) => boolean,
    words: string,
    atMost = patience,
  ): Promise<string> {
    const deadline = Date.now() + atMost
    for (;;) {
      // What has ended shows nothing more, so that it is asked before the last look.
      const isOver = (await this.ask('#{pane_dead}')) === '1' || Date.now() > deadline
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

  /** What tmux knows, in its own formats. */
  async ask(format: string): Promise<string> {
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
