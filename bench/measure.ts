import { execFile, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** A process to measure. */
export interface Program {
  name: string
  command: string
  args: readonly string[]
  env?: NodeJS.ProcessEnv
}

/**
 * Medians, in ms, of processes that take turns, so that changes in the load affect all of them.
 *
 * @param time measures one process (default: from start to end)
 */
export async function timeInTurn(
  programs: readonly Program[],
  rounds: number,
  time: (program: Program) => Promise<number> = untilExit,
): Promise<Map<string, number>> {
  const times = new Map(programs.map(({ name }) => [name, [] as number[]]))
  for (let round = -2; round < rounds; round++) {
    for (const program of programs) {
      const elapsed = await time(program)
      // The first two rounds fill the caches.
      if (round >= 0) times.get(program.name)?.push(elapsed)
    }
  }
  return new Map([...times].map(([name, values]) => [name, median(values)]))
}

/** Time from start to end of a process, in ms. */
export function untilExit({ name, command, args, env }: Program): Promise<number> {
  return new Promise((resolve, reject) => {
    const startedAt = performance.now()
    const child = spawn(command, args, { env: env ?? process.env, stdio: ['ignore', 'ignore', 'ignore'] })
    child.once('error', reject)
    child.once('exit', (code) => {
      if (code === 0) resolve(performance.now() - startedAt)
      else reject(new Error(`${name} ended with ${code}`))
    })
  })
}

/** Time from the start of a process to the first byte that it prints, in ms. */
export function untilFirstByte({ name, command, args, env }: Program): Promise<number> {
  return new Promise((resolve, reject) => {
    const startedAt = performance.now()
    let elapsed: number | undefined
    const child = spawn(command, args, { env: env ?? process.env, stdio: ['ignore', 'pipe', 'ignore'] })
    child.stdout.on('data', () => {
      elapsed ??= performance.now() - startedAt
    })
    child.once('error', reject)
    // The next process must not run in parallel with this one.
    child.once('close', (code) => {
      if (code === 0 && elapsed !== undefined) resolve(elapsed)
      else reject(new Error(`${name} ended with ${code}, and printed ${elapsed ? 'something' : 'nothing'}`))
    })
  })
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

/** CPU time of all threads of a process so far, in ms (proc(5), schedstat). */
export function cpuOf(pid: number): number {
  const tasks = `/proc/${pid}/task`
  return readdirSync(tasks)
    .map((task) => Number(readFileSync(`${tasks}/${task}/schedstat`, 'utf8').split(' ')[0]) / 1e6)
    .reduce((sum, ms) => sum + ms, 0)
}

/** A measured value with its bound. */
export interface BoundedFigure {
  name: string
  value: number
  /** The upper or the lower bound. */
  bound: { most: number } | { least: number }
}

/** Measures, prints what it measured, and returns what has a bound. */
export type Bench = (rounds: number) => Promise<readonly BoundedFigure[]>

/**
 * Prints which figures keep their bounds. If one does not, `again` measures once more.
 *
 * @returns whether no figure exceeded its bound twice
 */
export async function keepsBounds(bench: Bench, rounds: number, again: boolean): Promise<boolean> {
  const exceeded = printBounds(await bench(rounds))
  if (!again || exceeded.length === 0) return exceeded.length === 0
  process.stdout.write('once more, for what is beyond its bound\n')
  const still = printBounds(await bench(rounds))
  return !still.some((name) => exceeded.includes(name))
}

/** @returns the names of the figures that exceed their bounds */
function printBounds(figures: readonly BoundedFigure[]): string[] {
  const exceeded: string[] = []
  for (const { name, value, bound } of figures) {
    const isKept = 'most' in bound ? value <= bound.most : value >= bound.least
    const words = 'most' in bound ? `at most ${bound.most}` : `at least ${bound.least}`
    process.stdout.write(`${isKept ? 'within' : 'BEYOND'}  ${name}: ${value.toFixed(2)}, ${words}\n`)
    if (!isKept) exceeded.push(name)
  }
  return exceeded
}

/** User and system time of a whole process, in ms. Requires bash. */
export async function cpuUntilExit({ command, args, env }: Program): Promise<number> {
  const script = 'TIMEFORMAT="%3U %3S"; time "$@" < /dev/null > /dev/null 2>&1'
  const { stderr } = await run('bash', ['-ec', script, 'bash', command, ...args], env ? { env } : {})
  const [user = Number.NaN, system = Number.NaN] = stderr.trim().split(' ').map(Number)
  // Bash cuts off both at whole milliseconds, by half of one on average.
  return (user + system) * 1000 + 1
}
