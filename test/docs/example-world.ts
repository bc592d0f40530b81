import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { TranscriptWriter } from '../../src/chat/transcript/transcript-writer.ts'
import { systemClock } from '../../src/system/clock.ts'
import { makeCertificate } from '../support/certificate.ts'
import { freePort } from '../support/free-port.ts'
import { plantBrowserSession } from '../support/plant-browser-session.ts'
import { type Run, runChatctl } from '../support/run-chatctl.ts'
import { createSandbox, type Sandbox } from '../support/sandbox.ts'
import {
  changesSignIn,
  files,
  type Names,
  needsStoppedService,
  prompts,
  substitutions,
} from './example-tables.ts'

/** Runs the examples of a world, in this process or in a shell. */
export interface Typist {
  /** Installs the programs that the examples call. */
  prepare?(sandbox: Sandbox): void
  /** Whether it can run the example. */
  knows(text: string): boolean
  /** Runs an example to its end, or until its first output. */
  type(sandbox: Sandbox, text: string, until: 'end' | 'first output'): Promise<Run>
  startService(sandbox: Sandbox, port: number): Promise<{ url: string; stop(): Promise<void> }>
}

type Things = Omit<Names, 'url' | 'home' | 'number'>

/** A home directory with a signed-in profile and a service with data, in which examples run. */
export class ExampleWorld {
  readonly #sandbox: Sandbox
  readonly #things: Things
  readonly #typist: Typist
  #service: Awaited<ReturnType<Typist['startService']>> | undefined
  #port = 0
  #number = 0
  #isSignedIn = false

  private constructor(typist: Typist, sandbox: Sandbox, things: Things) {
    this.#typist = typist
    this.#sandbox = {
      ...sandbox,
      env: {
        ...sandbox.env,
        // Confirms every confirmation prompt.
        CHATCTL_YES: '1',
        EDITOR: 'sed -i.old s/app_name/app_name/',
        GITHUB_STEP_SUMMARY: '/dev/null',
      },
    }
    this.#things = things
  }

  /** The world that is copied for each document. */
  static async makeFirst(typist: Typist): Promise<ExampleWorld> {
    const sandbox = createSandbox()
    typist.prepare?.(sandbox)
    mkdirSync(join(sandbox.home, '.config/fish/completions'), { recursive: true })
    return new ExampleWorld(typist, sandbox, await fill(sandbox))
  }

  /** A copy with a separate service. */
  async begin(): Promise<ExampleWorld> {
    const sandbox = createSandbox()
    cpSync(this.#sandbox.home, sandbox.home, { recursive: true })
    const world = new ExampleWorld(this.#typist, sandbox, this.#things)
    world.#port = await freePort()
    await world.#start()
    for (const [name, text] of Object.entries(files))
      writeFileSync(join(sandbox.home, name), world.substitute(text))
    return world
  }

  /** The example with its placeholders replaced. */
  substitute(text: string): string {
    this.#number += 1
    const url = this.#service?.url ?? ''
    const names = { ...this.#things, url, home: this.#sandbox.home, number: this.#number }
    return substitutions.reduce(
      (words, { of, by }) => (words.search(of) === -1 ? words : words.replace(of, by(names))),
      text,
    )
  }

  /** Runs an example to its end, or until the first output for `service run`. */
  async run(text: string, prepare?: string): Promise<Run & { typed: string }> {
    const typed = this.substitute(text)
    const name = /^# (\S+\.sh),/.exec(text)?.[1]
    if (name !== undefined) writeFileSync(join(this.#sandbox.home, name), typed)
    if (!this.#isSignedIn) await this.#signIn()
    for (const line of prepare?.split(' && ') ?? []) await this.#type(line)
    const stops = needsStoppedService.test(text)
    if (stops) await this.#stop()
    const run = await this.#type(typed, /\bservice run\b/.test(text) ? 'first output' : 'end')
    if (stops) await this.#start()
    if (changesSignIn.test(text)) this.#isSignedIn = false
    return { ...run, typed }
  }

  async end(): Promise<void> {
    await this.#stop()
    this.#sandbox.remove()
  }

  async #start(): Promise<void> {
    this.#service = await this.#typist.startService(this.#sandbox, this.#port)
  }

  async #stop(): Promise<void> {
    await this.#service?.stop()
    this.#service = undefined
  }

  async #signIn(): Promise<void> {
    const words =
      'chatctl auth login --profile work --base-url https://chat.example --with-api-key --no-verify'
    for (const line of [`${this.substitute(words)} < key.txt`, 'chatctl auth use work']) {
      const { exitCode, stderr } = await this.#type(line)
      if (exitCode !== 0) throw new Error(stderr)
    }
    this.#isSignedIn = true
  }

  #type(text: string, until: 'end' | 'first output' = 'end'): Promise<Run> {
    return this.#typist.type(this.#sandbox, text, until)
  }
}

/** Creates users, a conversation, keys, and sessions with chatctl. */
async function fill(sandbox: Sandbox): Promise<Things> {
  const { home } = sandbox
  const data = join(home, '.local/share/chatctl')
  const json = async (stdin: string, ...args: string[]) => {
    const { stdout, stderr } = await runChatctl(sandbox, [...args, '--json'], { stdin })
    if (stdout === '') throw new Error(`${args.join(' ')}: ${stderr}`)
    return JSON.parse(stdout)
  }
  const password = files['password.txt'] ?? ''
  await json(password, 'service', 'admin', 'create', 'ada@example.com', '--password-stdin')
  const user = await json(
    password,
    'users',
    'create',
    '--email',
    'grace@example.com',
    '--password-stdin',
    '-p',
    'local',
  )
  const makeKey = (name: string) => json('', 'service', 'keys', 'create', '--name', name, '--tier', 'pro')
  const { key } = await makeKey('mine')
  const trustNames = ['one', 'two', 'three', 'four']
  const ofTrust = '--issuer https://ci.example --audience a --subject b --permission *:chat'.split(' ')
  for (const name of trustNames) await json('', 'service', 'trust', 'create', name, ...ofTrust)
  await json('', 'chat', 'send', 'Hello', '--no-stream', '-p', 'local')
  const sent = await json('', 'chat', 'send', '--continue', 'Again', '--no-stream', '-p', 'local')
  for (const [name, text] of Object.entries(prompts)) await json(text, 'chat', 'prompts', 'set', name)
  const { cert, key: tlsKey } = makeCertificate('127.0.0.1')
  writeFileSync(join(home, 'key.txt'), key)
  writeFileSync(join(home, 'cert.pem'), cert)
  writeFileSync(join(home, 'key.pem'), tlsKey, { mode: 0o600 })
  return {
    userId: user.id,
    keyId: (await makeKey('other')).id,
    revokedKeyId: (await makeKey('old')).id,
    trustNames,
    contextId: sent.context_id,
    messageId: sent.id,
    sessionId: await plantBrowserSession(data),
    transcriptId: plantTranscript(join(data, 'sessions'), 'trip to Rome'),
    deletableIds: Array.from({ length: 20 }, () => plantTranscript(join(data, 'sessions'), 'draft')),
  }
}

function plantTranscript(directory: string, name: string): string {
  const writer = TranscriptWriter.create(
    directory,
    { profile: 'work', baseUrl: 'https://chat.example/' },
    systemClock,
  )
  const at = new Date().toISOString()
  writer.append({ type: 'name', name })
  writer.append({ type: 'user', turn: 1, at, text: 'Where to?' })
  writer.append({ type: 'start', turn: 1, at })
  writer.append({ type: 'delta', turn: 1, text: 'To Rome.' })
  writer.append({ type: 'end', turn: 1, at, complete: true, verified: true })
  writer.close()
  return writer.id
}
