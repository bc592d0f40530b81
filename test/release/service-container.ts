import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import type { Run } from '../support/run-chatctl.ts'

/** A bundle of the runtime-spec, which umoci has unpacked. */
export interface Bundle {
  directory: string
  config: BundleConfig
}

interface BundleConfig {
  process: {
    terminal: boolean
    args: string[]
    env: string[]
    user: { uid: number; gid: number }
    capabilities: Record<string, string[]>
  }
  root: { path: string; readonly?: boolean }
  mounts: { destination: string; type: string; source: string; options: string[] }[]
}

export function readBundle(directory: string): Bundle {
  return { directory, config: JSON.parse(readFileSync(join(directory, 'config.json'), 'utf8')) }
}

export interface ContainerOptions {
  /** Arguments of the program (default: those of the image). */
  args?: readonly string[]
  env?: Readonly<Record<string, string>>
  /** Directories and files of this machine, by their paths in the container. */
  mounts: Readonly<Record<string, string>>
}

const runc = promisify(execFile)
let number = 0

/**
 * A container with a read-only file system, without capabilities, and with a network that has nothing but
 * loopback. The image determines all else.
 */
export class ServiceContainer {
  readonly #child: ChildProcess
  readonly #directory: string
  readonly #id: string
  #stderr = ''

  private constructor(child: ChildProcess, directory: string, id: string) {
    this.#child = child
    this.#directory = directory
    this.#id = id
    child.stderr?.on('data', (chunk) => {
      this.#stderr += chunk
    })
  }

  static create(
    { directory: unpacked, config }: Bundle,
    { args, env = {}, mounts }: ContainerOptions,
  ): ServiceContainer {
    const directory = mkdtempSync(join(unpacked, 'container-'))
    const id = `chatctl-${process.pid}-${++number}`
    const { process: described } = config
    const changed: BundleConfig = {
      ...config,
      root: { path: join(unpacked, config.root.path), readonly: true },
      process: {
        ...described,
        terminal: false,
        args: args ? [...described.args.slice(0, 1), ...args] : described.args,
        env: [...described.env, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)],
        capabilities: {},
      },
      mounts: [
        ...config.mounts,
        ...Object.entries(mounts).map(([destination, source]) => ({
          destination,
          source,
          type: 'bind',
          options: ['rbind', 'rw'],
        })),
      ],
    }
    writeFileSync(join(directory, 'config.json'), JSON.stringify(changed))
    mkdirSync(join(directory, 'state'))
    const words = ['--root', join(directory, 'state'), 'run', '--bundle', directory, id]
    const child = spawn('runc', words, { stdio: ['ignore', 'pipe', 'pipe'] })
    return new ServiceContainer(child, directory, id)
  }

  /** What it has written to stderr. */
  get log(): string {
    return this.#stderr
  }

  /** Resolves with the first line on stdout. @throws Error if the container ends before */
  async ready(): Promise<string> {
    const lines = createInterface({ input: this.#child.stdout as Readable })
    const ended = once(this.#child, 'close').then(() => [undefined])
    const [line] = await Promise.race([once(lines, 'line'), ended])
    if (line === undefined) throw new Error(`the container ended:\n${this.#stderr}`)
    return line
  }

  /** Runs the program to its end in the running container. */
  exec(...args: readonly string[]): Promise<Run> {
    return this.#run('exec', this.#id, '/usr/bin/chatctl', ...args)
  }

  /** The process ID of the service on this machine. */
  async pid(): Promise<number> {
    return JSON.parse((await this.#run('state', this.#id)).stdout).pid
  }

  /** Sends a request from the network of the container, as another container in it would. */
  async request(url: string, headers: Readonly<Record<string, string>> = {}): Promise<unknown> {
    const script = `fetch(process.argv[1], { headers: JSON.parse(process.argv[2]) })
      .then(async (response) => console.log(JSON.stringify({ status: response.status, body: await response.json() })))`
    const words = ['--target', String(await this.pid()), '--net', process.execPath, '--eval', script]
    const { stdout } = await promisify(execFile)('nsenter', [...words, url, JSON.stringify(headers)])
    return JSON.parse(stdout)
  }

  /** Waits for the end. @returns the exit code */
  async end(signal?: 'TERM' | 'KILL'): Promise<number | null> {
    const ended = once(this.#child, 'close')
    if (signal) await this.#run('kill', this.#id, signal)
    if (this.#child.exitCode === null) await ended
    return this.#child.exitCode
  }

  async remove(): Promise<void> {
    if (this.#child.exitCode === null) await this.end('KILL')
    await this.#run('delete', '--force', this.#id)
    rmSync(this.#directory, { recursive: true, force: true })
  }

  #run(...args: readonly string[]): Promise<Run> {
    return runc('runc', ['--root', join(this.#directory, 'state'), ...args]).then(
      ({ stdout, stderr }) => ({ exitCode: 0, stdout, stderr }),
      ({ code, stdout, stderr }) => ({ exitCode: code, stdout, stderr }),
    )
  }
}
