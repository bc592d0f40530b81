import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createSandbox, type Sandbox } from '../test/support/sandbox.ts'
import { startHistory } from './history-server.ts'
import { type Figure, measureInTurn, program, ratio, usageOf } from './measure.ts'

const models = 'chat models'

/** By what they find: in all messages, in one, in all as a phrase, in most as a prefix, and in none of this role. */
const searches = [['answer'], ['77777'], ['"short answer says"'], ['short*'], ['answer', '--role', 'nobody']]
const commands: Readonly<Record<string, readonly string[]>> = {
  [models]: ['chat', 'models'],
  ...Object.fromEntries(
    searches.map((words) => [['history search', ...words].join(' '), ['history', 'search', ...words]]),
  ),
}

/** CPU time of `history search` over a mirror of 100,000 messages and 1,000 sessions, relative to `chat models`. */
export async function benchSearch(rounds: number): Promise<Figure[]> {
  const sandbox = createSandbox({ ownCache: true })
  const server = await startHistory()
  const env = { ...sandbox.env, CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'bench-key' }
  try {
    writeSessions(sandbox, `${server.url}/`)
    await usageOf([program, 'history', 'sync'], env)
    const [base = '', ...names] = Object.keys(commands)
    const used = await measureInTurn([base, ...names], { rounds, warmUps: 2 }, (name) =>
      usageOf([program, ...(commands[name] ?? [])], env),
    )
    const cpuOf = (name: string) => used[name]?.cpu ?? Number.NaN
    return names.map((name) =>
      ratio(`CPU of ${name}, of ${base}`, 'ms', cpuOf(name), cpuOf(base), { most: 1.3 }),
    )
  } finally {
    server.close()
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
