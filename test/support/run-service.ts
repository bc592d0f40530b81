import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { type HostOptions, type ProcessOptions, runChatctl, startBuilt, startChatctl } from './run-chatctl.ts'
import type { Sandbox } from './sandbox.ts'

/** `chatctl service run` in a separate process. */
export interface ServiceProcess {
  url: string
  child: ChildProcess
  /** The warnings and errors in its log so far. */
  log(): string
  /** Stops the service as a user does, and waits. */
  stop(): Promise<void>
}

/**
 * Starts the service of the sandbox without an admin port, on a free port unless the arguments name
 * one, and waits until it is ready.
 */
export async function runService(
  sandbox: Sandbox,
  args: readonly string[] = [],
  options: ProcessOptions = {},
): Promise<ServiceProcess> {
  const child = startBuilt(sandbox, [...wordsOf(args), ...args], options)
  let errors = ''
  child.stderr?.on('data', (chunk) => {
    errors += chunk
  })
  const lines = createInterface({ input: child.stdout as Readable })
  const ended = once(child, 'close')
  const [line] = await Promise.race([once(lines, 'line'), ended.then(() => [undefined])])
  if (line === undefined) throw new Error(`the service did not start:\n${errors}`)
  return {
    url: JSON.parse(line).url,
    child,
    log: () => errors,
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
  }
}

export async function serveInProcess(
  sandbox: Sandbox,
  args: readonly string[] = [],
  options: HostOptions = {},
): Promise<Omit<ServiceProcess, 'child'>> {
  const running = startChatctl(sandbox, [...wordsOf(args), ...args], { timeout: 600_000, ...options })
  running.stdin.end()
  const [line] = await Promise.race([
    once(createInterface({ input: running.stdout }), 'line'),
    running.ended.then(() => [undefined]),
  ])
  const log = () => running.written().stderr
  if (line === undefined) throw new Error(`the service did not start:\n${log()}`)
  return {
    url: JSON.parse(line).url,
    log,
    async stop() {
      running.interrupt('SIGTERM')
      await running.ended
    },
  }
}

function wordsOf(args: readonly string[]): string[] {
  const port = args.includes('--port') ? [] : ['--port', '0']
  return ['service', 'run', ...port, '--admin-port', 'off', '--json', '--log-level', 'warn']
}

/** Creates a key of the embedded service. @returns the whole key */
export async function makeKey(sandbox: Sandbox, args: readonly string[] = []): Promise<string> {
  const words = ['service', 'keys', 'create', '--name', 'test', '--jq', '.key']
  const { stdout, stderr } = await runChatctl(sandbox, [...words, ...args])
  if (stdout === '') throw new Error(stderr)
  return stdout.trim()
}

/** Creates a user of a running service with a key of the machine. @returns the ID of the user */
export async function createUser(
  sandbox: Sandbox,
  url: string,
  { role, ...user }: { email: string; password: string; role?: string },
): Promise<string> {
  const headers = { authorization: `Bearer ${await makeKey(sandbox)}`, 'content-type': 'application/json' }
  const post = async (path: string, body: object) => {
    const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`)
    return (await response.json()) as { id: string }
  }
  const { id } = await post('/v1/users', user)
  if (role !== undefined) await post(`/v1/users/${id}/permissions`, { role })
  return id
}
