import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ChatHandler } from '../../support/handlers/chat.ts'
import type { ReplyScript, ScriptedReply } from '../../support/handlers/scripted-reply.ts'
import { binary, type Run, type RunOptions } from '../../support/run-chatctl.ts'
import { runProgram } from '../../support/run-program.ts'
import { createSandbox, type Sandbox } from '../../support/sandbox.ts'
import { type Served, serveHandler } from '../../support/scripted-server.ts'
import { Tmux, type TmuxOptions } from '../tmux.ts'

/** A terminal in which a session runs. */
export class Talk extends Tmux {
  /** Waits until the last line is an empty prompt, or the prompt has this text. */
  prompt(text = ''): Promise<string> {
    if (text === '') return this.waitUntil(hasPrompt, 'the prompt')
    return this.waitUntil((screen) => promptOf(screen) === text, `"${text}" in the prompt`)
  }

  /** Waits until a turn has ended whose reply ends with these words. */
  turn(words: string): Promise<string> {
    const escaped = words.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
    return this.waitFor(new RegExp(`${escaped}\\s[\\s\\S]*total [\\d.]+s`))
  }

  /** Types a line, and waits for its words. */
  async ask(line: string, words: string | RegExp): Promise<string> {
    await this.say(line)
    return this.waitFor(words)
  }

  /** Types a slash command, and waits for its words and the prompt. */
  async command(line: string, words: string | RegExp): Promise<string> {
    await this.ask(line, words)
    return this.prompt()
  }

  /** Sends a message, and waits for the reply and the prompt. */
  async converse(said: string, answered = `You said: ${said}`): Promise<string> {
    await this.say(said)
    await this.turn(answered)
    return this.prompt()
  }

  /** Types a draft, and waits until it is shown. */
  async draft(text: string): Promise<void> {
    await this.type(text)
    await this.prompt(text)
  }

  /** Leaves with Ctrl-D. @returns the ID of the session, if it had a turn */
  async leave(): Promise<string> {
    await this.key('C-d')
    await this.exitCode()
    return /--resume (\S+)/.exec(await this.screen())?.[1] ?? ''
  }
}

interface ShownTurn {
  user: string
  answer: string
  status: string
}

/** Sessions in terminals with a scripted service. */
export class TalkSession {
  readonly sandbox: Sandbox
  readonly server: Served<ChatHandler>
  readonly #terminals: Talk[] = []

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
  async chat(args: readonly string[] = [], options: TmuxOptions = {}): Promise<Talk> {
    const terminal = await this.start(['chat', ...args], options)
    await terminal.prompt()
    return terminal
  }

  /** A session in which the first pieces of a reply are shown. The others wait for `release`. */
  async partOf(
    text: readonly string[],
    { pieces = 1, ...script }: { pieces?: number } & Partial<ReplyScript> = {},
  ): Promise<{ terminal: Talk; answer: ScriptedReply }> {
    const answer = this.server.answerNext({ ...script, text, held: true })
    const terminal = await this.chat()
    await terminal.say('Hello')
    await answer.begun
    answer.release(pieces)
    await terminal.waitFor(text.slice(0, pieces).join('').trim())
    return { terminal, answer }
  }

  start(args: readonly string[], options?: TmuxOptions): Promise<Talk> {
    return this.open([process.execPath, binary, ...args], options)
  }

  /** A shell in which `"$NODE" "$CHATCTL"` is the program. */
  async shell(): Promise<Talk> {
    const env = { PS1: '$ ', NODE: process.execPath, CHATCTL: binary }
    const terminal = await this.open(['sh', '-i'], { env })
    await terminal.waitFor(/^\$$/m)
    return terminal
  }

  async open(command: readonly string[], options: TmuxOptions = {}): Promise<Talk> {
    const terminal = await Talk.run(this.sandbox, command, {
      ...options,
      env: { ...this.env, ...options.env },
    })
    this.#terminals.push(terminal)
    return terminal
  }

  /** Any command with pipes, until it ends. */
  run(args: readonly string[], options: RunOptions = {}): Promise<Run> {
    return runProgram(this.sandbox, args, { ...options, env: { ...this.env, ...options.env } })
  }

  /** The sessions of this machine, the most recently used first. */
  sessions(): Promise<{ id: string; turns: number }[]> {
    return this.#json('chat', 'sessions')
  }

  /** The turns of a session (default: the most recently used one). */
  async turns(session?: string): Promise<ShownTurn[]> {
    const id = session ?? (await this.sessions())[0]?.id ?? ''
    return (await this.#json<{ turns: ShownTurn[] }>('chat', 'show', id)).turns
  }

  /** The messages sent so far. */
  get sent(): (string | undefined)[] {
    return this.server.sends.map(({ message }) => message)
  }

  /** The messages of the last completion, as roles and contents. */
  get completed(): string[] {
    const { messages = [] } = this.server.completions.at(-1) ?? {}
    return messages.map(({ role, content }) => `${role}: ${content}`)
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

  async #json<T>(...args: string[]): Promise<T> {
    const { stdout, stderr, exitCode } = await this.run([...args, '--json'])
    if (exitCode !== 0) throw new Error(`${args.join(' ')} ended with ${exitCode}: ${stderr}`)
    return JSON.parse(stdout)
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
  const shown = lines.slice(begin).map((line) => line.slice(2))
  return shown.join('\n')
}

export function count(text: string, words: string): number {
  return text.split(words).length - 1
}
