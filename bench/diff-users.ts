import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { hashOfField } from '../src/users/managed-fields.ts'
import { watchPeakMemory } from '../test/support/peak-memory.ts'
import { createSandbox, type Sandbox } from '../test/support/sandbox.ts'
import { median, timeInTurn } from './measure.ts'

const binary = fileURLToPath(new URL('../bin/run.js', import.meta.url))
const undici = new URL('../node_modules/undici/index.js', import.meta.url).href
const service = fileURLToPath(new URL('./users-service.ts', import.meta.url))

const users = 20_000
const concurrency = 16
/** Response time of the service, in ms. */
const delay = 10

/** A minimal script that reads the same users. */
const bareLoop = `
import { readFile } from 'node:fs/promises'
import { Pool } from ${JSON.stringify(undici)}
const pool = new Pool(process.env.CHATCTL_BASE_URL, { connections: ${concurrency} })
const { users } = JSON.parse(await readFile(process.env.BENCH_STATE, 'utf8'))
const headers = { authorization: 'Bearer bench-key' }
let next = 0
async function work() {
  for (let user = users[next++]; user !== undefined; user = users[next++]) {
    const answer = await pool.request({ method: 'GET', path: '/v1/users/' + user.id, headers })
    if (answer.statusCode !== 200) throw new Error('answered ' + answer.statusCode)
    await answer.body.json()
  }
}
await Promise.all(Array.from({ length: ${concurrency} }, work))
await pool.close()`

/** Medians of whole processes, in ms. */
export interface DiffFigures {
  users: number
  diff: number
  apply: number
  bareUndici: number
}

/** `users diff` and `users apply` without a difference, and a bare loop that reads the same users. */
export async function measureDiff(rounds: number): Promise<DiffFigures> {
  const sandbox = createSandbox()
  const child = fork(service, [String(delay)])
  try {
    const [port] = await once(child, 'message')
    const url = `http://127.0.0.1:${port}/`
    const { file, state } = await writeFiles(sandbox, url, users)
    const env = { ...sandbox.env, CHATCTL_BASE_URL: url, CHATCTL_API_KEY: 'bench-key', BENCH_STATE: state }
    const chatctl = (...args: string[]) => [binary, 'users', ...args, '--concurrency', String(concurrency)]
    const medians = await timeInTurn(
      [
        { name: 'diff', command: process.execPath, args: chatctl('diff', file, '--exit-code'), env },
        { name: 'apply', command: process.execPath, args: chatctl('apply', file, '--yes'), env },
        { name: 'bare', command: process.execPath, args: ['--input-type=module', '-e', bareLoop], env },
      ],
      rounds,
    )
    const of = (name: string): number => medians.get(name) ?? Number.NaN
    return { users, diff: of('diff'), apply: of('apply'), bareUndici: of('bare') }
  } finally {
    child.disconnect()
    sandbox.remove()
  }
}

/** A minimal script that compares the users of the two files, with both in memory. */
const bareComparison = `
import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
const hashOf = (value) => hash('sha256', JSON.stringify(value), 'base64url').slice(0, 11)
const { users } = JSON.parse(await readFile(process.env.BENCH_STATE, 'utf8'))
const known = new Map(users.map((user) => [user.email, user.hashes]))
const [head, ...rows] = (await readFile(process.env.BENCH_USERS, 'utf8')).trim().split('\\n')
const [, ...fields] = head.split(',')
for (const row of rows) {
  const [email, ...values] = row.split(',')
  const hashes = known.get(email)
  if (fields.some((field, at) => hashes?.[field] !== hashOf(values[at]))) throw new Error(email + ' differs')
}`

/** Peak memory in bytes. */
export interface DiffMemoryFigures {
  users: number
  chatctl: number
  bare: number
}

/** Peak memory of `users diff --no-refresh` without a difference, and of a bare script with the same files: medians. */
export async function measureDiffMemory(): Promise<DiffMemoryFigures> {
  const sandbox = createSandbox()
  const url = 'http://127.0.0.1:9/'
  const { file, state } = await writeFiles(sandbox, url, 100_000)
  const env = {
    ...sandbox.env,
    CHATCTL_BASE_URL: url,
    CHATCTL_API_KEY: 'bench-key',
    BENCH_USERS: file,
    BENCH_STATE: state,
  }
  const peakOf = async (args: readonly string[]): Promise<number> => {
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'inherit'] })
    const { exitCode, peak } = await watchPeakMemory(child)
    if (exitCode !== 0) throw new Error(`node ${args.join(' ').slice(0, 80)} ended with ${exitCode}`)
    return peak
  }
  try {
    const peaks = { chatctl: [] as number[], bare: [] as number[] }
    // The peak varies by up to a third with the time of a collection of garbage.
    for (let round = 0; round < 5; round++) {
      peaks.chatctl.push(await peakOf([binary, 'users', 'diff', file, '--no-refresh', '--exit-code']))
      peaks.bare.push(await peakOf(['--input-type=module', '-e', bareComparison]))
    }
    const [chatctl, bare] = [median(peaks.chatctl), median(peaks.bare)]
    return { users: 100_000, chatctl, bare }
  } finally {
    sandbox.remove()
  }
}

/** A file of users, and the state file of a run that has applied it. */
async function writeFiles(
  sandbox: Sandbox,
  service: string,
  count: number,
): Promise<{ file: string; state: string }> {
  const path = join(sandbox.home, `users-${count}`)
  const emailOf = (number: number): string => `user${String(number).padStart(7, '0')}@example.com`
  const company = hashOfField('metadata.company', 'Acme')
  const role = hashOfField('role', 'member')
  function* rows(): Iterable<string> {
    yield 'email,metadata.company,role\n'
    for (let number = 0; number < count; number++) yield `${emailOf(number)},Acme,member\n`
  }
  function* entries(): Iterable<string> {
    const head = { format: 'chatctl-users-state', v: 1, service, serial: 1 }
    yield `${JSON.stringify(head).slice(0, -1)},"users":[\n`
    for (let number = 0; number < count; number++) {
      const id = `usr_${String(number).padStart(8, '0')}`
      const entry = { email: emailOf(number), id, hashes: { 'metadata.company': company, role } }
      yield `${JSON.stringify(entry)}${number < count - 1 ? ',' : ''}\n`
    }
    yield ']}\n'
  }
  const [file, state] = [`${path}.csv`, `${path}.state.json`]
  await pipeline(Readable.from(rows()), createWriteStream(file))
  await pipeline(Readable.from(entries()), createWriteStream(state))
  return { file, state }
}
