import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Run, startBuilt } from '../support/run-chatctl.ts'
import type { Sandbox } from '../support/sandbox.ts'

/** A run with times, in ms from its start or from the signal that ended it. */
export interface TimedRun extends Run {
  waitingAfter: number | undefined
  endedAfter: number
}

export interface Timing {
  env: NodeJS.ProcessEnv
  /** When SIGINT is sent: after a notice, or after a time in ms. Never by default. */
  interrupt?: 'when it says that it waits' | number | undefined
}

/** Runs the built program with a key on stdin, and measures times. */
export async function runTimed(
  sandbox: Sandbox,
  args: readonly string[],
  { env, interrupt }: Timing,
): Promise<TimedRun> {
  const child = startBuilt(sandbox, args, { env })
  const started = performance.now()
  const run: TimedRun = { exitCode: null, stdout: '', stderr: '', waitingAfter: undefined, endedAfter: 0 }
  let signalled = 0
  const sendSignal = () => {
    signalled = performance.now()
    child.kill('SIGINT')
  }
  child.stdin?.on('error', () => {})
  child.stdin?.end('canary-2\n')
  child.stdout?.on('data', (chunk) => {
    run.stdout += chunk
  })
  child.stderr?.on('data', (chunk) => {
    run.stderr += chunk
    if (run.waitingAfter !== undefined || !run.stderr.includes('Waiting for the keychain')) return
    run.waitingAfter = performance.now() - started
    if (interrupt === 'when it says that it waits') sendSignal()
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), 40_000)
  const closed = new Promise<number | null>((resolve) => child.once('close', resolve))
  if (typeof interrupt === 'number') await sleep(interrupt).then(sendSignal)
  run.exitCode = await closed
  clearTimeout(timer)
  return { ...run, endedAfter: performance.now() - (signalled || started) }
}

/** The processes of Node with this home directory, after killed ones had time to end. */
export async function programsLeft(sandbox: Sandbox): Promise<string[]> {
  for (let waited = 0; waited < 500; waited += 20) {
    if (programsOf(sandbox).length === 0) return []
    await sleep(20)
  }
  return programsOf(sandbox)
}

/** Command lines of the processes of Node with this home directory. */
export function programsOf({ home }: Sandbox): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((id) => {
      try {
        if (!readFileSync(`/proc/${id}/environ`, 'utf8').split('\0').includes(`HOME=${home}`)) return []
        const line = readFileSync(`/proc/${id}/cmdline`, 'utf8')
        return line.startsWith(process.execPath) ? [line.replaceAll('\0', ' ')] : []
      } catch {
        // It has ended, or belongs to another user.
        return []
      }
    })
}
