import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, createWriteStream, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { watchPeakMemory } from '../test/support/peak-memory.ts'
import { createSandbox, type Sandbox } from '../test/support/sandbox.ts'
import { cpuUntilExit, type Program, timeInTurn, untilExit } from './measure.ts'

const binary = fileURLToPath(new URL('../bin/run.js', import.meta.url))
const undici = new URL('../node_modules/undici/index.js', import.meta.url).href
const service = fileURLToPath(new URL('./users-service.ts', import.meta.url))

const users = 20_000
const concurrency = 16
/** Response time of the service, in ms. */
const delay = 10

/** A minimal script that survives a power failure: flushes a line to disk before each request. */
const bareLoop = `
import { open, readFile } from 'node:fs/promises'
import { Pool } from ${JSON.stringify(undici)}
const pool = new Pool(process.env.CHATCTL_BASE_URL, { connections: ${concurrency} })
const journal = await open(process.env.BENCH_JOURNAL, 'a')
const rows = (await readFile(process.env.BENCH_USERS, 'utf8')).trim().split('\\n').slice(1)
const headers = { authorization: 'Bearer bench-key', 'content-type': 'application/json' }
let next = 0
async function work() {
  for (let row = rows[next++]; row !== undefined; row = rows[next++]) {
    const [email, name, company] = row.split(',')
    await journal.write(email + '\\n')
    await journal.datasync()
    const body = JSON.stringify({ email, name, metadata: { company } })
    const answer = await pool.request({ method: 'POST', path: '/v1/users', headers, body })
    if (answer.statusCode !== 201) throw new Error('answered ' + answer.statusCode)
    await answer.body.json()
  }
}
await Promise.all(Array.from({ length: ${concurrency} }, work))
await journal.close()
await pool.close()`

/** Medians of whole processes, in ms. */
export interface ImportFigures {
  users: number
  chatctl: number
  bareUndici: number
  /** Ratio of the rates. */
  ratio: number
  /** CPU time per row, in ms. */
  cpu: { chatctl: number; bareUndici: number }
  /** Time to write one line and flush it to disk, in ms. */
  oneSync: number
}

/** `users import`, relative to a bare loop that flushes a line to disk before each request. */
export async function measureImport(rounds: number): Promise<ImportFigures> {
  const sandbox = createSandbox()
  const { url, close } = await startService(delay)
  try {
    const path = await writeUsers(sandbox, users)
    const programs: Program[] = [importOf(sandbox, url, path), bareImportOf(sandbox, url, path)]
    const measure = (time: typeof untilExit) =>
      timeInTurn(programs, rounds, (program) => {
        forgetImports(sandbox)
        return time(program)
      })
    const medians = await measure(untilExit)
    const cpu = await measure(cpuUntilExit)
    const perRow = (name: string): number => (cpu.get(name) ?? Number.NaN) / users
    const [chatctl = Number.NaN, bareUndici = Number.NaN] = [medians.get('chatctl'), medians.get('bare')]
    return {
      users,
      chatctl,
      bareUndici,
      ratio: bareUndici / chatctl,
      cpu: { chatctl: perRow('chatctl'), bareUndici: perRow('bare') },
      oneSync: timeOneSync(sandbox),
    }
  } finally {
    close()
    sandbox.remove()
  }
}

/** Peak memory in bytes. */
export interface MemoryFigures {
  users: number
  chatctl: number
  bareUndici: number
  ratio: number
}

/** Peak memory of `users import`, relative to the bare loop, with a service that responds immediately. */
export async function measureImportMemory(): Promise<MemoryFigures> {
  const sandbox = createSandbox()
  const count = 100_000
  const { url, close } = await startService(0)
  const peakOf = async ({ name, command, args, env }: Program): Promise<number> => {
    const child = spawn(command, args, { env: env ?? {}, stdio: ['ignore', 'ignore', 'ignore'] })
    const { exitCode, peak } = await watchPeakMemory(child)
    if (exitCode !== 0) throw new Error(`an import of ${count} users by ${name} ended with ${exitCode}`)
    return peak
  }
  try {
    const path = await writeUsers(sandbox, count)
    const chatctl = await peakOf(importOf(sandbox, url, path))
    const bareUndici = await peakOf(bareImportOf(sandbox, url, path))
    return { users: count, chatctl, bareUndici, ratio: chatctl / bareUndici }
  } finally {
    close()
    sandbox.remove()
  }
}

function importOf(sandbox: Sandbox, url: string, path: string): Program {
  return {
    name: 'chatctl',
    command: process.execPath,
    args: [binary, 'users', 'import', path, '--yes', '--concurrency', String(concurrency)],
    env: { ...sandbox.env, CHATCTL_BASE_URL: url, CHATCTL_API_KEY: 'bench-key' },
  }
}

function bareImportOf(sandbox: Sandbox, url: string, path: string): Program {
  return {
    name: 'bare',
    command: process.execPath,
    args: ['--input-type=module', '-e', bareLoop],
    env: {
      ...sandbox.env,
      CHATCTL_BASE_URL: url,
      BENCH_USERS: path,
      BENCH_JOURNAL: join(sandbox.home, 'bare.journal'),
    },
  }
}

/** Removes the journal, because a finished import is not repeated. */
function forgetImports(sandbox: Sandbox): void {
  rmSync(join(sandbox.home, '.local', 'state'), { recursive: true, force: true })
}

async function writeUsers(sandbox: Sandbox, count: number): Promise<string> {
  const path = join(sandbox.home, `users-${count}.csv`)
  const lines = function* () {
    yield 'email,name,metadata.company\n'
    for (let number = 0; number < count; number++) {
      yield `user${number}@example.com,User ${number},Company ${number % 100}\n`
    }
  }
  await pipeline(Readable.from(lines()), createWriteStream(path))
  return path
}

async function startService(ms: number): Promise<{ url: string; close: () => void }> {
  const child = fork(service, [String(ms)])
  const [port] = await once(child, 'message')
  return { url: `http://127.0.0.1:${port}`, close: () => child.disconnect() }
}

/** Median of some hundred writes, on the disk that the imports use. */
function timeOneSync(sandbox: Sandbox): number {
  const file = openSync(join(sandbox.home, 'sync'), 'a')
  const times = Array.from({ length: 300 }, () => {
    const startedAt = performance.now()
    writeSync(file, 'user1@example.com\n')
    fdatasyncSync(file)
    return performance.now() - startedAt
  })
  closeSync(file)
  return times.sort((a, b) => a - b)[150] ?? Number.NaN
}
