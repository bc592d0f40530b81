import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { PassThrough, Transform, type TransformCallback } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { CredentialStore } from '../../src/auth/credentials/credential-store.ts'
import { keychainFailure } from '../../src/auth/credentials/keychain-failure.ts'
import { run } from '../../src/boot/run.ts'
import { Interruption } from '../../src/cli/context/interruption.ts'
import type { Host } from '../../src/cli/host.ts'
import { systemClock } from '../../src/system/clock.ts'
import type { Sandbox } from './sandbox.ts'
import { sourceInstallation, sourceProgram } from './source-program.ts'

export const binary = fileURLToPath(new URL('../../bin/run.js', import.meta.url))

export interface Run {
  /** Null if a signal ended the process. */
  exitCode: number | null
  stdout: string
  stderr: string
}

export interface RunOptions {
  env?: NodeJS.ProcessEnv
  /** The whole stdin (default: empty). */
  stdin?: string | Uint8Array
  /** The run fails after this time in ms. */
  timeout?: number
  cwd?: string
}

export interface HostOptions extends RunOptions {
  /** Selects this service, with the key `some-key`. Variables in `env` take precedence. */
  service?: { readonly url: string }
  /** Overrides of the host that `startChatctl` creates. */
  host?: Partial<Host>
  /** Makes all three streams a terminal, which shows stdout and stderr together. */
  terminal?: { columns: number }
}

export interface ProcessOptions extends RunOptions {
  /** Replaces the built program: a Node.js binary and a script, or an executable. */
  program?: readonly [command: string, ...start: string[]]
}

export interface Running {
  stdin: PassThrough
  stdout: Transform
  stderr: Transform
  /** Delivers a signal from the user or the system. */
  interrupt(signal?: Interruption['signal']): void
  written(): { stdout: string; stderr: string }
  ended: Promise<Run>
}

/** Starts the program in src with a command line, in this process. */
export function startChatctl(
  sandbox: Sandbox,
  args: readonly string[],
  { service, env, cwd, timeout = 20_000, host: given, terminal }: HostOptions = {},
): Running {
  const [stdin, stdout] = terminal
    ? [new TerminalInput(), new TerminalOutput(terminal.columns)]
    : [new PassThrough(), new OutputStream()]
  const stderr = terminal ? stdout : new OutputStream()
  const isTerminal = terminal !== undefined
  const shown = { stdout: collect(stdout), stderr: collect(stderr) }
  const controller = new AbortController()
  const takers = new Map<Interruption['signal'], () => void>()
  const interrupt: Running['interrupt'] = (signal = 'SIGINT') => {
    const taker = takers.get(signal)
    if (taker) taker()
    else controller.abort(new Interruption(signal))
  }
  const host: Host = {
    installation: sourceInstallation,
    platform: process.platform,
    env: definedIn({ ...sandbox.env, ...(service && keyFor(service.url)), ...env }),
    cwd: cwd ?? sandbox.home,
    stdin: stdin as unknown as NodeJS.ReadStream,
    stdout: stdout as unknown as NodeJS.WriteStream,
    stderr: stderr as unknown as NodeJS.WriteStream,
    isTerminal: { stdin: isTerminal, stdout: isTerminal, stderr: isTerminal },
    isStdinNull: false,
    signal: controller.signal,
    takeSignal: (signal, taker) => {
      const before = takers.get(signal)
      takers.set(signal, taker)
      return () => void (before ? takers.set(signal, before) : takers.delete(signal))
    },
    raise: (signal) => {
      if (signal === 'SIGINT') interrupt()
    },
    onContinue: () => () => {},
    onExit: () => () => {},
    onReaderGone: () => {},
    allowGrace: () => {},
    untilEnded: () => () => {},
    expectStreamedReply: () => {},
    modelServers: [],
    clock: systemClock,
    log: { write: (line) => void stderr.write(line) },
    openKeychain: () => noKeychain,
    hasDisplay: true,
    openBrowser: async (url) => {
      const { openBrowser } = await import('../../src/auth/open-browser.ts')
      return openBrowser(url, host.env['BROWSER'])
    },
    ...given,
  }
  const timer = setTimeout(() => controller.abort(new Error(`it did not end within ${timeout} ms`)), timeout)
  const written = () => ({ stdout: shown.stdout(), stderr: shown.stderr() })
  const ended = run(args, host, sourceProgram)
    .finally(() => clearTimeout(timer))
    .then(async (exitCode) => {
      await Promise.all([end(stdout), end(stderr)])
      return { exitCode, ...written() }
    })
  return { stdin, stdout, stderr, interrupt, written, ended }
}

/** Runs the program in src with a command line to its end, in this process. */
export async function runChatctl(
  sandbox: Sandbox,
  args: readonly string[],
  options: HostOptions = {},
): Promise<Run> {
  const running = startChatctl(sandbox, args, options)
  running.stdin.end(options.stdin ?? '')
  return running.ended
}

const keyFor = (url: string) => ({ CHATCTL_BASE_URL: url, CHATCTL_API_KEY: 'some-key' })

/** The keychain of a machine that has none. */
const noKeychain: CredentialStore = {
  storage: 'keychain',
  read: async ({ origin, profile }) => refuse(origin, profile),
  write: async ({ origin, profile }) => refuse(origin, profile),
  delete: async ({ origin, profile }) => refuse(origin, profile),
}

function refuse(origin: string, profile: string): never {
  throw keychainFailure('keychain_unavailable', { service: `chatctl:${origin}`, account: profile })
}

/** Removes undefined variables, as in the environment of a process. */
function definedIn(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined))
}

/** Copies what is written, like a pipe, so that the writer can use the buffer again. */
class OutputStream extends Transform {
  override _transform(chunk: Uint8Array, _: BufferEncoding, done: TransformCallback): void {
    done(null, Buffer.from(chunk))
  }
}

class TerminalOutput extends OutputStream {
  readonly isTTY = true
  readonly rows = 24
  readonly columns: number

  constructor(columns: number) {
    super()
    this.columns = columns
  }

  /** A prompt ends what it writes to, unless that is a stream of the process. */
  override end(): this {
    return this
  }

  close(): void {
    super.end()
  }
}

/** Records raw mode, which has no effect because nothing is echoed. */
class TerminalInput extends PassThrough {
  readonly isTTY = true
  isRaw = false

  setRawMode(isRaw: boolean): this {
    this.isRaw = isRaw
    return this
  }
}

async function end(stream: Transform): Promise<void> {
  if (!stream.destroyed && !stream.readableEnded) {
    if (stream instanceof TerminalOutput) stream.close()
    else stream.end()
    await once(stream, 'end')
  }
}

/** Starts the built program as a shell does, with pipes for its three streams. */
export function startBuilt(
  sandbox: Sandbox,
  args: readonly string[],
  { env, cwd, program = [process.execPath, binary] }: ProcessOptions = {},
): ChildProcess {
  const [command, ...start] = program
  return spawn(command, [...start, ...args], {
    env: { ...sandbox.env, ...env },
    cwd: cwd ?? sandbox.home,
    stdio: 'pipe',
  })
}

/** The output of a process while it arrives, without the exit code. */
export function collectOutput(child: ChildProcess): Run {
  const run: Run = { exitCode: null, stdout: '', stderr: '' }
  child.stdout?.on('data', (chunk) => {
    run.stdout += chunk
  })
  child.stderr?.on('data', (chunk) => {
    run.stderr += chunk
  })
  return run
}

/** @returns the output so far, also of a stream that fails */
export function collect(stream: NodeJS.ReadableStream | null): () => string {
  const chunks: Buffer[] = []
  stream?.on('data', (chunk: Buffer) => chunks.push(chunk))
  stream?.on('error', () => {})
  return () => Buffer.concat(chunks).toString('utf8')
}
