import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, fdatasyncSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { performance } from 'node:perf_hooks'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** The built program. */
export const program = resolve(import.meta.dirname, '../bin/run.js')

/** For the bare scripts, which are passed as text. */
export const undici = new URL('../node_modules/undici/index.js', import.meta.url).href

/** A measured value, which is printed with what it was computed from. */
export interface Figure {
  name: string
  value: number
  detail: string
  /** The upper or the lower bound, if it has one. */
  bound?: Bound | undefined
}

export type Bound = { most: number } | { least: number }

export type Bench = (rounds: number) => Promise<readonly Figure[]>

/** The figure of a program, relative to that of another. */
export function ratio(name: string, unit: string, ours: number, others: number, bound?: Bound): Figure {
  const [left, right] = [ours, others].map((value) => value.toFixed(value < 10 ? 3 : 1))
  return { name, value: ours / others, detail: `${left} and ${right} ${unit}`, bound }
}

/**
 * Prints which figures keep their bounds. If one does not, `again` measures once more.
 *
 * @returns whether no figure exceeded its bound twice
 */
export async function keepsBounds(bench: Bench, rounds: number, again: boolean): Promise<boolean> {
  const exceeded = printFigures(await bench(rounds))
  if (!again || exceeded.length === 0) return exceeded.length === 0
  process.stdout.write('once more, for what is beyond its bound\n')
  const still = printFigures(await bench(rounds))
  return !still.some((name) => exceeded.includes(name))
}

/** @returns the names of the figures that exceed their bounds */
function printFigures(figures: readonly Figure[]): string[] {
  return figures.flatMap(({ name, value, detail, bound }) => {
    const isKept = !bound || ('most' in bound ? value <= bound.most : value >= bound.least)
    const words = bound && ('most' in bound ? `at most ${bound.most}` : `at least ${bound.least}`)
    const state = bound ? (isKept ? 'within' : 'BEYOND') : 'no bound'
    process.stdout.write(`${state.padEnd(8)}  ${name}: ${value.toFixed(2)}`)
    process.stdout.write(`${words ? `, ${words}` : ''} (${detail})\n`)
    return isKept ? [] : [name]
  })
}

/**
 * Medians of the figures of programs that take turns, so that changes in the load affect all of them.
 *
 * @param warmUps rounds that only fill the caches
 */
export async function measureInTurn<Name extends string, Measured extends Record<string, number>>(
  names: readonly Name[],
  { rounds, warmUps }: { rounds: number; warmUps: number },
  measure: (name: Name) => Promise<Measured>,
): Promise<Record<Name, Measured>> {
  const seen = new Map(names.map((name) => [name, [] as Measured[]]))
  for (let round = -warmUps; round < rounds; round++) {
    for (const name of names) {
      const measured = await measure(name)
      if (round >= 0) seen.get(name)?.push(measured)
    }
  }
  const medians = [...seen].map(([name, measured]) => {
    const keys = Object.keys(measured[0] ?? {})
    return [name, Object.fromEntries(keys.map((key) => [key, median(measured.map((one) => one[key] ?? 0))]))]
  })
  return Object.fromEntries(medians)
}

/** The resources that a process used: its CPU time (user and system) and its duration in ms, and its peak memory in MB. */
export type Usage = Record<'cpu' | 'elapsed' | 'peak', number>

/** Node.js does not report the resources that a child used. */
const measureChild = `
import json, resource, subprocess, sys, time
start = time.perf_counter()
subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
elapsed = time.perf_counter() - start
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({
  "cpu": 1000 * (used.ru_utime + used.ru_stime), "elapsed": 1000 * elapsed, "peak": used.ru_maxrss / 1024
}))`

/** Runs Node.js until it exits with 0. Requires python3 and, for the peak memory, Linux. */
export async function usageOf(args: readonly string[], env: NodeJS.ProcessEnv): Promise<Usage> {
  const { stdout } = await run('python3', ['-c', measureChild, process.execPath, ...args], { env })
  return JSON.parse(stdout)
}

export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

/** A server in this process. */
export async function serve(listener: RequestListener): Promise<{ url: string; close(): void }> {
  const server = createServer(listener)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const close = () => {
    server.close()
    server.closeAllConnections()
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close }
}

/** A server in a separate process, which prints its URL in a first line of JSON. */
export interface ServerProcess {
  url: string
  /** CPU time of all threads so far, in ms (proc(5), schedstat). */
  cpu(): number
  stop(): Promise<void>
}

export async function startServer(args: readonly string[]): Promise<ServerProcess> {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const { url } = JSON.parse(await firstLine(child)) as { url: string }
  const tasks = `/proc/${child.pid}/task`
  return {
    url,
    cpu: () =>
      readdirSync(tasks)
        .map((task) => Number(readFileSync(`${tasks}/${task}/schedstat`, 'utf8').split(' ')[0]) / 1e6)
        .reduce((sum, ms) => sum + ms, 0),
    async stop() {
      const closed = once(child, 'close')
      child.kill('SIGTERM')
      await closed
    },
  }
}

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    child.stdout?.on('data', (chunk) => {
      text += chunk
      if (text.includes('\n')) resolve(text.slice(0, text.indexOf('\n')))
    })
    child.once('error', reject)
    child.once('close', (code) => reject(new Error(`The server ended with ${code}`)))
  })
}

/** The median time to write some bytes and flush them to disk, in ms. */
export function timeOneFlush(directory: string): number {
  const file = openSync(join(directory, 'sync'), 'w')
  const times = Array.from({ length: 101 }, () => {
    writeSync(file, 'x'.repeat(4096))
    const startedAt = performance.now()
    fdatasyncSync(file)
    return performance.now() - startedAt
  })
  closeSync(file)
  return median(times)
}
