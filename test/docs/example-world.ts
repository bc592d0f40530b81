import { spawn } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { TranscriptWriter } from '../../src/talk/transcript/transcript-writer.ts'
import { makeCertificate } from '../support/certificate.ts'
import { freePort } from '../support/free-port.ts'
import { plantBrowserSession } from '../support/plant-browser-session.ts'
import { binary, type Run, runBuilt } from '../support/run-chatctl.ts'
import { runService, type ServiceProcess } from '../support/run-service.ts'
import { createSandbox, type Sandbox } from '../support/sandbox.ts'
import { changesSignIn, files, type Names, needsStoppedService, substitutions } from './example-tables.ts'

type Things = Omit<Names, 'url' | 'home' | 'number'>

/** A machine on which examples run: somebody is signed in to a service there, which has been in use. */
export class ExampleWorld {
  readonly #sandbox: Sandbox
  readonly #things: Things
  readonly #env: NodeJS.ProcessEnv
  #service: ServiceProcess | undefined
  #port = 0
  #number = 0
  #isSignedIn = false

  private constructor(sandbox: Sandbox, things: Things) {
    this.#sandbox = sandbox
    this.#things = things
    const { home, env } = sandbox
    const browser = join(import.meta.dirname, 'agree-in-browser.ts')
    this.#env = {
      ...env,
      PATH: [join(home, 'bin'), env['PATH']].join(delimiter),
      // Whoever is asked agrees.
      CHATCTL_YES: '1',
      EDITOR: 'sed -i.old s/app_name/app_name/',
      BROWSER: `${process.execPath} ${browser} ada@example.com ${files['password.txt']?.trim()}`,
    }
  }

  /** The world from which those of the documents are copied. */
  static async makeFirst(): Promise<ExampleWorld> {
    const sandbox = createSandbox()
    const bin = join(sandbox.home, 'bin')
    mkdirSync(bin)
    for (const [name, line] of Object.entries({
      chatctl: `exec '${process.execPath}' '${binary}' "$@"`,
      git: 'echo "+ one more line"',
      less: 'exec cat',
    })) {
      writeFileSync(join(bin, name), `#!/bin/sh\n${line}\n`)
      chmodSync(join(bin, name), 0o755)
    }
    mkdirSync(join(sandbox.home, '.config/fish/completions'), { recursive: true })
    return new ExampleWorld(sandbox, await fill(sandbox))
  }

  /** A copy, with its own service. */
  async begin(): Promise<ExampleWorld> {
    const sandbox = createSandbox()
    cpSync(this.#sandbox.home, sandbox.home, { recursive: true })
    const world = new ExampleWorld(sandbox, this.#things)
    world.#port = await freePort()
    await world.#start()
    for (const [name, text] of Object.entries(files)) {
      writeFileSync(join(sandbox.home, name), world.substitute(text))
    }
    return world
  }

  /** An example as it can be run here. */
  substitute(text: string): string {
    this.#number += 1
    const url = this.#service?.url ?? ''
    const names = { ...this.#things, url, home: this.#sandbox.home, number: this.#number }
    return substitutions.reduce((words, { of, by }) => words.replace(of, by(names)), text)
  }

  /** Runs an example to its end, and a service until it serves. */
  async run(text: string, prepare?: string): Promise<Run & { typed: string }> {
    const typed = this.substitute(text)
    const name = /^# (\S+\.sh),/.exec(text)?.[1]
    if (name !== undefined) writeFileSync(join(this.#sandbox.home, name), typed)
    if (!this.#isSignedIn) await this.#signIn()
    if (prepare !== undefined) await this.#bash(prepare)
    const stops = needsStoppedService.test(text)
    if (stops) await this.#stop()
    const run = await this.#bash(typed, /\bservice run\b/.test(text))
    if (stops) await this.#start()
    if (changesSignIn.test(text)) this.#isSignedIn = false
    return { ...run, typed }
  }

  async end(): Promise<void> {
    await this.#stop()
    this.#sandbox.remove()
  }

  async #start(): Promise<void> {
    this.#service = await runService(this.#sandbox, ['--port', `${this.#port}`])
  }

  async #stop(): Promise<void> {
    await this.#service?.stop()
    this.#service = undefined
  }

  async #signIn(): Promise<void> {
    const words =
      'chatctl auth login --profile work --base-url https://chat.example --with-api-key --no-verify'
    const { exitCode, stderr } = await this.#bash(
      `${this.substitute(words)} < key.txt && chatctl auth use work`,
    )
    if (exitCode !== 0) throw new Error(stderr)
    this.#isSignedIn = true
  }

  #bash(script: string, isServer = false): Promise<Run> {
    const words = ['-c', isServer ? `exec ${script}` : `set -eo pipefail\n${script}`]
    const child = spawn('bash', words, {
      env: this.#env,
      cwd: this.#sandbox.home,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const run: Run = { exitCode: null, stdout: '', stderr: '' }
    child.stdout.on('data', (chunk) => {
      run.stdout += chunk
      if (isServer) child.kill('SIGTERM')
    })
    child.stderr.on('data', (chunk) => {
      run.stderr += chunk
    })
    const timer = setTimeout(() => child.kill('SIGKILL'), 40_000)
    return new Promise((done) => {
      child.once('close', (exitCode) => {
        clearTimeout(timer)
        done({ ...run, exitCode })
      })
    })
  }
}

/** Users, a conversation, keys and sessions, by the program itself. */
async function fill(sandbox: Sandbox): Promise<Things> {
  const { home } = sandbox
  const data = join(home, '.local/share/chatctl')
  const json = async (stdin: string, ...args: string[]) => {
    const { stdout, stderr } = await runBuilt(sandbox, [...args, '--json'], { stdin })
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
  await json('', 'chat', 'send', 'Hello', '--no-stream', '-p', 'local')
  const sent = await json('', 'chat', 'send', '--continue', 'Again', '--no-stream', '-p', 'local')
  const { cert, key: tlsKey } = makeCertificate('127.0.0.1')
  writeFileSync(join(home, 'key.txt'), key)
  writeFileSync(join(home, 'cert.pem'), cert)
  writeFileSync(join(home, 'key.pem'), tlsKey, { mode: 0o600 })
  return {
    userId: user.id,
    keyId: (await makeKey('other')).id,
    revokedKeyId: (await makeKey('old')).id,
    contextId: sent.context_id,
    messageId: sent.id,
    sessionId: await plantBrowserSession(data),
    transcriptId: plantTranscript(join(data, 'sessions')),
  }
}

function plantTranscript(folder: string): string {
  const writer = TranscriptWriter.create(folder, { profile: 'work', baseUrl: 'https://chat.example/' })
  const at = new Date().toISOString()
  writer.append({ type: 'name', name: 'trip to Rome' })
  writer.append({ type: 'user', turn: 1, at, text: 'Where to?' })
  writer.append({ type: 'start', turn: 1, at })
  writer.append({ type: 'delta', turn: 1, text: 'To Rome.' })
  writer.append({ type: 'end', turn: 1, at, complete: true, verified: true })
  writer.close()
  return writer.id
}
