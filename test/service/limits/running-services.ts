import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { Pool } from 'undici'
import { runChatctl, startChatctl } from '../../support/run-chatctl.ts'
import type { Sandbox } from '../../support/sandbox.ts'

export interface RunningProcess {
  url: string
  child: ChildProcess
  /** Its log so far: warnings and errors. */
  log(): string
  /** Ends it in good order. */
  stop(): Promise<void>
}

/** `chatctl service run` on a free port, as a process of its own. */
export async function runService(sandbox: Sandbox, where: readonly string[]): Promise<RunningProcess> {
  const args = ['service', 'run', '--port', '0', '--json', '--log-level', 'warn', ...where]
  const child = startChatctl(sandbox, args)
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

/** A key made on the machine, in full. */
export async function makeKey(
  sandbox: Sandbox,
  where: readonly string[],
  args: readonly string[],
): Promise<string> {
  const made = ['service', 'keys', 'create', '--name', 'load', '--json', ...where, ...args]
  const { stdout, stderr } = await runChatctl(sandbox, made)
  if (stdout === '') throw new Error(stderr)
  return JSON.parse(stdout).key
}

/** How many of `count` requests were admitted and how many refused with 429, over so many connections at once. */
export async function load(url: string, key: string, count: number, connections: number) {
  const pool = new Pool(url, { connections, pipelining: 1 })
  const statuses = await Promise.all(
    Array.from({ length: count }, async () => {
      const { statusCode, body } = await pool.request({
        method: 'GET',
        path: '/api/user/profile',
        headers: { authorization: `Bearer ${key}` },
      })
      await body.dump()
      return statusCode
    }),
  )
  await pool.close()
  const of = (status: number) => statuses.filter((found) => found === status).length
  return { admitted: of(200), refused: of(429), other: statuses.length - of(200) - of(429) }
}

/** Does it again where the clock hour ended in between: then twice the limit is right. */
export async function withinOneHour(work: () => Promise<void>): Promise<void> {
  const hour = () => Math.floor(Date.now() / 3_600_000)
  for (;;) {
    const before = hour()
    try {
      return await work()
    } catch (error) {
      if (hour() === before) throw error
    }
  }
}
