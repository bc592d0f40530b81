import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createSandbox, type Sandbox } from '../test/support/sandbox.ts'
import { startHistory } from './export-100k.ts'
import { type BoundedFigure, cpuUntilExit, type Program, timeInTurn } from './measure.ts'

const binary = fileURLToPath(new URL('../bin/run.js', import.meta.url))
const run = promisify(execFile)

const models = 'chat models'

/** In all messages, in one, in all as a phrase, in most as a prefix, and in none of this role. */
const searches = [['answer'], ['77777'], ['"short answer says"'], ['short*'], ['answer', '--role', 'nobody']]

/**
 * CPU time of `history search` over a mirror of 100,000 messages and 1,000 sessions, relative to
 * `chat models`. Requires bash.
 */
export async function benchSearch(rounds: number): Promise<BoundedFigure[]> {
  const sandbox = createSandbox({ ownCache: true })
  const server = await startHistory()
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const env = { ...sandbox.env, CHATCTL_BASE_URL: baseUrl, CHATCTL_API_KEY: 'bench-key' }
  const chatctl = (...args: string[]): Program => ({
    name: args.join(' '),
    command: process.execPath,
    args: [binary, ...args],
    env,
  })
  try {
    writeSessions(sandbox, `${baseUrl}/`)
    const { stdout } = await run(process.execPath, [binary, 'history', 'sync', '--json'], { env })
    const programs = [
      chatctl('chat', 'models'),
      ...searches.map((words) => chatctl('history', 'search', ...words)),
    ]
    const medians = await timeInTurn(programs, rounds, cpuUntilExit)
    const bare = medians.get(models) ?? Number.NaN
    process.stdout.write(
      `CPU time, median of ${rounds} rounds in turn, ${JSON.parse(stdout).messages} messages, Node ${process.versions.node}\n`,
    )
    for (const [name, ms] of medians) {
      process.stdout.write(`${name.padEnd(45)} ${ms.toFixed(0).padStart(5)} ms  ${(ms / bare).toFixed(2)}\n`)
    }
    return searches.map((words) => {
      const name = ['history search', ...words].join(' ')
      const value = (medians.get(name) ?? Number.NaN) / bare
      return { name: `${name}, of ${models}`, value, bound: { most: 1.3 } }
    })
  } finally {
    server.close()
    server.closeAllConnections()
    sandbox.remove()
  }
}

function writeSessions({ home }: Sandbox, baseUrl: string): void {
  const directory = join(home, '.local/share/chatctl/sessions')
  mkdirSync(directory, { recursive: true })
  for (let index = 0; index < 1000; index++) {
    const at = new Date(Date.UTC(2026, 0, 1) + index * 60_000).toISOString()
    const id = `s20260101-${String(100_000 + index)}-aaaa`
    const lines = [
      { v: 1, type: 'session', id, at, profile: null, base_url: baseUrl },
      { type: 'user', turn: 1, at, text: `Question ${index}` },
      { type: 'delta', turn: 1, text: 'A reply that is recorded here.' },
      { type: 'end', turn: 1, at, complete: true, verified: true },
    ]
    writeFileSync(join(directory, `${id}.jsonl`), lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  }
}
