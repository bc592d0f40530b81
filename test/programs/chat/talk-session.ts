import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ChatHandler } from '../../support/handlers/chat.ts'
import { binary, type Run, type RunOptions } from '../../support/run-chatctl.ts'
import { runProgram } from '../../support/run-program.ts'
import { createSandbox, type Sandbox } from '../../support/sandbox.ts'
import { type Served, serveHandler } from '../../support/scripted-server.ts'
import { Tmux, type TmuxOptions } from '../tmux.ts'

/** Sessions in terminals with a scripted service. */
export class TalkSession {
  readonly sandbox: Sandbox
  readonly server: Served<ChatHandler>
  readonly #terminals: Tmux[] = []

  private constructor(sandbox: Sandbox, server: Served<ChatHandler>) {
    this.sandbox = sandbox
    this.server = server
  }

  static async begin(): Promise<TalkSession> {
    return new TalkSession(createSandbox(), await serveHandler(new ChatHandler()))
  }

  get env(): NodeJS.ProcessEnv {
    return { CHATCTL_API_KEY: 'key-of-a-test', CHATCTL_BASE_URL: this.server.url }
  }

  /** `chatctl chat` in a terminal, when its prompt is shown. */
  async chat(args: readonly string[] = [], options: TmuxOptions = {}): Promise<Tmux> {
    const terminal = await this.start(['chat', ...args], options)
    await terminal.waitUntil(hasPrompt, 'the prompt')
    return terminal
  }

  async start(args: readonly string[], options: TmuxOptions = {}): Promise<Tmux> {
    const terminal = await Tmux.start(this.sandbox, args, {
      ...options,
      env: { ...this.env, ...options.env },
    })
    this.#terminals.push(terminal)
    return terminal
  }

  /** A shell in a terminal, in which `"$NODE" "$CHATCTL"` is the program. */
  async shell(options: TmuxOptions = {}): Promise<Tmux> {
    const terminal = await Tmux.run(this.sandbox, ['sh', '-i'], {
      ...options,
      env: { ...this.env, PS1: '$ ', NODE: process.execPath, CHATCTL: binary, ...options.env },
    })
    this.#terminals.push(terminal)
    await terminal.waitFor(/^\$$/m)
    return terminal
  }

  /** Any command with pipes, until it ends. */
  run(args: readonly string[], options: RunOptions = {}): Promise<Run> {
    return runProgram(this.sandbox, args, { ...options, env: { ...this.env, ...options.env } })
  }

  async json(...args: string[]): Promise<unknown> {
    const { stdout, stderr, exitCode } = await this.run([...args, '--json'])
    if (exitCode !== 0) throw new Error(`${args.join(' ')} ended with ${exitCode}: ${stderr}`)
    return JSON.parse(stdout)
  }

  /** The variables of an `$EDITOR` that runs a line of sh, with the file as "$1". */
  editor(line: string): NodeJS.ProcessEnv {
    const path = join(this.sandbox.home, 'editor.sh')
    writeFileSync(path, `#!/bin/sh\n${line}\n`, { mode: 0o700 })
    return { EDITOR: path, VISUAL: path }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.end()
  }

  async end(): Promise<void> {
    await Promise.all(this.#terminals.map((terminal) => terminal.close()))
    await this.server.close()
    this.sandbox.remove()
  }
}

/** Whether the last line is an empty prompt. */
export function hasPrompt(screen: string): boolean {
  return screen.split('\n').at(-1) === '>'
}

/** The text in the prompt, from the last `> ` on. */
export function promptOf(screen: string): string {
  const lines = screen.split('\n')
  const begin = lines.findLastIndex((line) => line === '>' || line.startsWith('> '))
  return lines
    .slice(begin)
    .map((line) => line.slice(2))
    .join('\n')
}

/** Waits until a turn has ended whose reply ends with these words. */
export function waitForTurn(terminal: Tmux, words: string): Promise<string> {
  const escaped = words.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return terminal.waitFor(new RegExp(`${escaped}\\s[\\s\\S]*total [\\d.]+s`))
}

/** Sends a message, and waits for the reply and the prompt. */
export async function converse(
  terminal: Tmux,
  said: string,
  answered = `You said: ${said}`,
): Promise<string> {
  await terminal.say(said)
  await waitForTurn(terminal, answered)
  return terminal.waitUntil(hasPrompt, 'the prompt')
}

export function count(text: string, words: string): number {
  return text.split(words).length - 1
}
