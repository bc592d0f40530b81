import { createInterface } from 'node:readline'
import { runChatctl, startChatctl } from './run-chatctl.ts'
import type { Sandbox } from './sandbox.ts'

/** `chatctl service run` as a process of its own. */
export interface ServiceProcess {
  url: string
  /** Ends it as a person does, and waits. */
  stop(): Promise<void>
  /** Makes a user of the service. */
  createUser(user: { email: string; password: string; role?: string }): Promise<string>
}

/** Starts the service of the sandbox on a free port, and waits until it is ready. */
export async function runService(sandbox: Sandbox, args: readonly string[] = []): Promise<ServiceProcess> {
  const words = ['service', 'run', '--port', '0', '--json', '--log-level', 'error', ...args]
  const child = startChatctl(sandbox, words)
  let stderr = ''
  child.stderr?.on('data', (chunk) => {
    stderr += chunk
  })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const ready = new Promise<string>((resolve) => {
    if (child.stdout) createInterface(child.stdout).once('line', resolve)
  })
  const line = await Promise.race([ready, ended])
  if (line === undefined) throw new Error(`the service did not start: ${stderr}`)
  const { url } = JSON.parse(line)
  const made = await runChatctl(sandbox, ['service', 'keys', 'create', '--name', 'test', '--jq', '.key'])
  const headers = { authorization: `Bearer ${made.stdout.trim()}`, 'content-type': 'application/json' }
  const post = async (path: string, body: object) => {
    const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`)
    return (await response.json()) as { id: string }
  }
  return {
    url,
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
    async createUser({ role, ...user }) {
      const { id } = await post('/v1/users', user)
      if (role !== undefined) await post(`/v1/users/${id}/permissions`, { role })
      return id
    },
  }
}
