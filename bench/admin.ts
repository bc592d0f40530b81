import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { intentOf } from '../src/contract/intent.ts'
import { lineOf, outcomeOf } from '../src/ledger/record.ts'
import { createSandbox, type Sandbox } from '../test/support/sandbox.ts'
import {
  type Figure,
  measureInTurn,
  median,
  program,
  ratio,
  startServer,
  timeOneFlush,
  type Usage,
  undici,
  usageOf,
} from './measure.ts'

const concurrency = 16

/** A minimal script that survives a power failure: flushes a line to disk before each request. */
const bareLoop = `
import { open, readFile } from 'node:fs/promises'
import { Pool } from ${JSON.stringify(undici)}
const pool = new Pool(process.env.CHATCTL_BASE_URL, { connections: ${concurrency} })
const log = await open(process.env.HOME + '/bare.log', 'a')
const rows = (await readFile(process.env.BENCH_USERS, 'utf8')).trim().split('\\n').slice(1)
const headers = { authorization: 'Bearer bench-key', 'content-type': 'application/json' }
let next = 0
async function work() {
  for (let row = rows[next++]; row !== undefined; row = rows[next++]) {
    const [email, name, company] = row.split(',')
    await log.write(email + '\\n')
    await log.datasync()
    const body = JSON.stringify({ email, name, metadata: { company } })
    const answer = await pool.request({ method: 'POST', path: '/v1/users', headers, body })
    if (answer.statusCode !== 201) throw new Error('answered ' + answer.statusCode)
    await answer.body.json()
  }
}
await Promise.all(Array.from({ length: ${concurrency} }, work))
await log.close()
await pool.close()`

/** `users import`, relative to a bare loop that flushes a line to disk before each request, and a question to a ledger. */
export async function benchAdmin(rounds: number): Promise<Figure[]> {
  const sandbox = createSandbox()
  try {
    const users = 20_000
    const { chatctl, bare } = await measureImports(sandbox, users, 10, { rounds, warmUps: 2 })
    const rate = ({ elapsed }: Usage) => users / (elapsed / 1000)
    const perRow = ({ cpu }: Usage) => cpu / users
    // With a service that responds immediately.
    const large = await measureImports(sandbox, 100_000, 0, { rounds: 1, warmUps: 0 })
    return [
      ratio('rate of users import, of bare undici', '/s', rate(chatctl), rate(bare), { least: 0.8 }),
      ratio('its CPU per row, of bare undici', 'ms', perRow(chatctl), perRow(bare), { most: 1.5 }),
      ratio('its memory for 100,000 users, of bare undici', 'MB', large.chatctl.peak, large.bare.peak, {
        most: 1.5,
      }),
      ...timeQuestions(join(sandbox.home, 'ledger.jsonl'), 11),
      { name: 'one line, flushed to disk', value: timeOneFlush(sandbox.home), detail: 'ms' },
    ]
  } finally {
    sandbox.remove()
  }
}

/** Who has an email, and whose is an ID, in a ledger of 100,000 changes. */
function timeQuestions(path: string, times: number): Figure[] {
  const [at, run] = [new Date().toISOString(), '0123456789ab']
  const lines = Array.from({ length: 100_000 }, (_, number) => {
    const id = `${run}-${number}`
    const body = { email: `user${number}@example.com`, name: `User ${number}`, metadata: { company: 'Acme' } }
    const change = {
      method: 'POST',
      path: '/v1/users',
      endpoint: 'createUser',
      user: undefined,
      body,
    } as const
    const outcome = { outcome: 'done', status: 201, createdId: `usr_${number}` } as const
    return `${lineOf({ ...intentOf(change), id, at, command: 'users import' })}\n${lineOf(outcomeOf(id, intentOf(change), outcome))}\n`
  })
  writeFileSync(path, `${lineOf({ ledger: 1, service: 'https://chat.example/' })}\n${lines.join('')}`)
  const script = join(import.meta.dirname, 'ask-ledger.ts')
  return ['email', 'ID'].map((about) => ({
    name: `ms to ask a ledger of 100,000 changes about an ${about}`,
    value: median(
      Array.from({ length: times }, () => Number(execFileSync(process.execPath, [script, path, about]))),
    ),
    detail: 'CPU of a new process, without its start',
    bound: { most: 20 },
  }))
}

/** @param delay response time of the service, in ms */
async function measureImports(
  sandbox: Sandbox,
  users: number,
  delay: number,
  times: { rounds: number; warmUps: number },
): Promise<Record<'chatctl' | 'bare', Usage>> {
  const server = await startServer([join(import.meta.dirname, 'users-service.ts'), String(delay)])
  const file = join(sandbox.home, `users-${users}.csv`)
  const lines = Array.from({ length: users }, (_, number) => {
    return `user${number}@example.com,User ${number},Company ${number % 100}\n`
  })
  writeFileSync(file, `email,name,metadata.company\n${lines.join('')}`)
  const env = {
    ...sandbox.env,
    CHATCTL_BASE_URL: server.url,
    CHATCTL_API_KEY: 'bench-key',
    BENCH_USERS: file,
  }
  const commands = {
    chatctl: [program, 'users', 'import', file, '--yes', '--concurrency', String(concurrency)],
    bare: ['--input-type=module', '-e', bareLoop],
  }
  try {
    return await measureInTurn(['chatctl', 'bare'], times, (name) => {
      // A finished import is not repeated.
      rmSync(join(sandbox.home, '.local', 'state'), { recursive: true, force: true })
      return usageOf(commands[name], env)
    })
  } finally {
    await server.stop()
  }
}
