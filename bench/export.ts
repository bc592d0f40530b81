import { createSandbox } from '../test/support/sandbox.ts'
import { startHistory } from './history-server.ts'
import { type Figure, measureInTurn, program, ratio, undici, usageOf } from './measure.ts'

/** A minimal script for a service with known behavior: prints the newest page first, as it arrives. */
const bareLoop = `
import { request } from ${JSON.stringify(undici)}
let before
for (;;) {
  const cursor = before === undefined ? '' : '&before=' + before
  const { body } = await request(process.env.CHATCTL_BASE_URL + '/api/chat/history?limit=100' + cursor)
  const page = await body.json()
  process.stdout.write(page.messages.map((message) => JSON.stringify(message) + '\\n').join(''))
  if (!page.has_more) break
  before = page.messages[0].id
}`

const all = [program, 'history', 'export', '-o', 'jsonl']
const commands = {
  all,
  // Requests one page.
  none: [...all, '--since', '2099-01-01'],
  bare: ['--input-type=module', '-e', bareLoop],
}

/** `history export` of 100,000 messages, relative to a bare loop over the same pages. */
export async function benchExport(rounds: number): Promise<Figure[]> {
  const sandbox = createSandbox()
  const server = await startHistory()
  const env = { ...sandbox.env, CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'bench-key' }
  try {
    const names = Object.keys(commands) as (keyof typeof commands)[]
    const used = await measureInTurn(names, { rounds, warmUps: 2 }, (name) => usageOf(commands[name], env))
    const { all, none, bare } = used
    return [
      ratio('CPU of history export, of bare undici', 'ms', all.cpu, bare.cpu, { most: 1.35 }),
      {
        name: 'its peak memory over an empty run, in MB',
        value: all.peak - none.peak,
        detail: `${all.peak.toFixed(0)} and ${none.peak.toFixed(0)} MB`,
        bound: { most: 60 },
      },
    ]
  } finally {
    server.close()
    sandbox.remove()
  }
}
