import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'

/** A whole process to be timed. */
export interface Program {
  name: string
  command: string
  args: readonly string[]
  env?: NodeJS.ProcessEnv
}

/**
 * Medians, in ms, of processes that took turns, so that a machine's moods hit all alike.
 *
 * @param time what is timed of each; the whole of it where not said
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

/** Milliseconds that a whole process takes. */
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

/** Milliseconds from the start of a process to the first byte that it prints. */
export function untilFirstByte({ name, command, args, env }: Program): Promise<number> {
  return new Promise((resolve, reject) => {
    const startedAt = performance.now()
    let elapsed: number | undefined
    const child = spawn(command, args, { env: env ?? process.env, stdio: ['ignore', 'pipe', 'ignore'] })
    child.stdout.on('data', () => {
      elapsed ??= performance.now() - startedAt
    })
    child.once('error', reject)
    // The next process begins when this one no longer works.
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

/** Milliseconds of CPU that all threads of a process have used so far (proc(5), schedstat). */
export function cpuOf(pid: number): number {
  const tasks = `/proc/${pid}/task`
  return readdirSync(tasks)
    .map((task) => Number(readFileSync(`${tasks}/${task}/schedstat`, 'utf8').split(' ')[0]) / 1e6)
    .reduce((sum, ms) => sum + ms, 0)
}
