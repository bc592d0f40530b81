import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** A session bus for one test, or a substitute. */
export interface SessionBus extends AsyncDisposable {
  /** The variables with which a program finds it, and does not find the bus of this machine. */
  env: NodeJS.ProcessEnv
  close(): Promise<void>
}

/** A working bus, in a separate directory. */
export interface LiveBus extends SessionBus {
  directory: string
  /** Whether a program owns a name on the bus. */
  hasOwner(name: string): boolean
}

/** Starts a bus that activates no programs: only what the test starts is on it. */
export async function startSessionBus(): Promise<LiveBus> {
  const directory = makeDirectory()
  writeFileSync(join(directory, 'bus.conf'), busConfiguration(directory))
  const env = environment(directory)
  const words = ['--nofork', '--nopidfile', '--print-address=1', `--config-file=${directory}/bus.conf`]
  const daemon = new Program('dbus-daemon', words, { PATH: process.env['PATH'], HOME: directory, ...env })
  const close = async () => {
    await daemon.end()
    rmSync(directory, { recursive: true, force: true })
  }
  await daemon
    .until(() => daemon.stdout.includes('\n'))
    .catch(async (error) => {
      await close()
      throw error
    })
  return {
    env,
    directory,
    close,
    [Symbol.asyncDispose]: close,
    hasOwner: (name) => call(env, busName, '/', `${busName}.NameHasOwner`, `string:${name}`).includes('true'),
  }
}

/** Starts a server that accepts every connection and never sends anything. */
export async function startSilentBus(): Promise<SessionBus> {
  const directory = makeDirectory()
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
  })
  await new Promise<void>((resolve) => server.listen(join(directory, 'bus'), resolve))
  const close = async () => {
    const closed = new Promise((resolve) => server.close(resolve))
    for (const socket of sockets) socket.destroy()
    await closed
    rmSync(directory, { recursive: true, force: true })
  }
  return { env: environment(directory), close, [Symbol.asyncDispose]: close }
}

/** No bus: an address without a listener, or no address and no default location. */
export function noBus(how: 'dead address' | 'no address'): NodeJS.ProcessEnv {
  const env = environment(join(tmpdir(), 'chatctl-nowhere'))
  return how === 'dead address' ? env : { XDG_RUNTIME_DIR: env['XDG_RUNTIME_DIR'] }
}

const busName = 'org.freedesktop.DBus'

/** Calls one method on a bus, and returns what dbus-send prints of the reply. */
export function call(
  env: NodeJS.ProcessEnv,
  destination: string,
  path: string,
  method: string,
  ...values: string[]
): string {
  const words = ['--session', '--print-reply', '--reply-timeout=5000', `--dest=${destination}`, path, method]
  const { stdout, stderr, status, error } = spawnSync('dbus-send', [...words, ...values], {
    env: { PATH: process.env['PATH'], ...env },
    encoding: 'utf8',
  })
  if (error) throw error
  if (status !== 0) throw new Error(`${method}: ${stderr}`)
  return stdout
}

/** A program that runs in the background until it is ended by its process ID. */
export class Program {
  readonly #child: ChildProcess
  readonly #closed: Promise<unknown>
  #ended: string | undefined
  stdout = ''
  stderr = ''

  constructor(name: string, words: readonly string[], env: NodeJS.ProcessEnv, stdin = '') {
    this.#child = spawn(name, words, { env, stdio: 'pipe' })
    this.#child.stdout?.on('data', (chunk) => {
      this.stdout += chunk
    })
    this.#child.stderr?.on('data', (chunk) => {
      this.stderr += chunk
    })
    this.#closed = new Promise((resolve) => {
      this.#child.once('error', (error) => {
        this.#ended = `${error.message}: run scripts/install-system-deps`
        resolve(undefined)
      })
      this.#child.once('exit', (code, signal) => {
        this.#ended = `${name} ended (${code ?? signal}): ${this.stderr}`
        resolve(undefined)
      })
    })
    this.#child.stdin?.on('error', () => {})
    this.#child.stdin?.end(stdin)
  }

  /** Waits until the program is ready. Throws if it has ended. */
  async until(ready: () => boolean): Promise<void> {
    const deadline = Date.now() + 10_000
    for (;;) {
      if (this.#ended) throw new Error(this.#ended)
      if (ready()) return
      if (Date.now() > deadline) throw new Error(`not ready after 10 s: ${this.stderr}`)
      await sleep(20)
    }
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  async end(): Promise<void> {
    // A stopped program does not receive SIGTERM until it continues.
    this.#child.kill('SIGTERM')
    this.#child.kill('SIGCONT')
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), 3_000)
    await this.#closed
    clearTimeout(timer)
  }
}

/** Outside the sandbox, because the path of a Unix socket must be short. */
function makeDirectory(): string {
  return mkdtempSync(join(tmpdir(), 'chatctl-bus-'))
}

function environment(directory: string): NodeJS.ProcessEnv {
  return { DBUS_SESSION_BUS_ADDRESS: `unix:path=${directory}/bus`, XDG_RUNTIME_DIR: directory }
}

function busConfiguration(directory: string): string {
  return `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path=${directory}/bus</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
`
}
