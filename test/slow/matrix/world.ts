import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { programForAnyUser } from '../../support/any-user.ts'
import { createJobPool } from '../../support/job-pool.ts'
import { binary, collect, type Run } from '../../support/run-chatctl.ts'
import { answerWhenAsked } from './answer-when-asked.ts'
import type { Call } from './calls.ts'
import type { Form } from './forms.ts'
import { runInProcess } from './run-in-process.ts'
import type { WrongClock } from './wrong-clock.ts'

/** Everything around one run. A test causes a failure by changing it before the run. */
export interface World {
  /** Directory that contains the others. */
  root: string
  home: string
  /** Working directory of the call. */
  here: string
  /** TMPDIR. */
  tmp: string
  env: NodeJS.ProcessEnv
  /** Width of the terminal. */
  columns: number
  /** Id of another user to run as. */
  user: number | undefined
  /** In the notation of a shell: `>&-`. */
  redirections: string
  /** Signals to send, each this many milliseconds after the start or after the previous one. */
  signals: readonly { signal: NodeJS.Signals; after: number }[]
  /** Whether the working directory is deleted before the program starts. */
  isHereDeleted: boolean
  /** How the clock is wrong. */
  clock: WrongClock | undefined
  /** What the reader of stdout does. */
  reader: 'reads all' | 'is gone' | 'goes after the first bytes'
}

export interface WorldRun extends Run {
  /** Whether it had to be killed. */
  hung: boolean
  /** The signal that ended it, if any. */
  signal: NodeJS.Signals | null
}

/** Milliseconds after which a run counts as hanging. */
export const patience = 25_000

/** This many processes at a time use all of a small machine. */
const processes = createJobPool(3)

/** Runs the program once. In a terminal, stdout contains everything that was shown. */
export function runIn(world: World, args: readonly string[], form: Form, call: Call): Promise<WorldRun> {
  return needsProcess(world)
    ? processes(() => runAsProcess(world, args, form, call))
    : runInProcess(world, args, form, call)
}

/** What only the system can cause: another user, a signal, a pipe without a reader, or a full device. */
function needsProcess(world: World): boolean {
  return (
    world.user !== undefined ||
    world.signals.length > 0 ||
    world.isHereDeleted ||
    world.reader !== 'reads all' ||
    /[<>]\//.test(world.redirections) ||
    // Node reads it once for the whole process.
    world.env['TZ'] !== undefined
  )
}

/**
 * Runs the built program once in a separate process, and in a terminal of script(1) if the form is a
 * terminal.
 */
export async function runAsProcess(
  world: World,
  args: readonly string[],
  form: Form,
  call: Call,
  program = world.user === undefined ? [process.execPath, binary] : programForAnyUser(),
): Promise<WorldRun> {
  const words = [...program, ...args]
  const as = world.user
  const asUser = as === undefined ? [] : ['setpriv', `--reuid=${as}`, `--regid=${as}`, '--clear-groups']
  const input = join(world.root, 'stdin')
  if (call.stdin !== undefined) writeFileSync(input, call.stdin, { mode: 0o644 })
  const from = form === 'terminal' && call.stdin !== undefined ? `<'${input}'` : ''
  const gone = world.isHereDeleted ? `rm -r '${world.here}'; ` : ''
  const line = `${gone}exec ${[...asUser, ...words].map(quote).join(' ')} ${from} ${world.redirections}`
  const child =
    form === 'terminal'
      ? startOnTerminal(world, line)
      : spawn('/bin/sh', ['-c', line], { env: world.env, cwd: world.here, detached: true, stdio: 'pipe' })
  child.stdin?.on('error', () => {})
  if (form !== 'terminal') child.stdin?.end(call.stdin ?? '')
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)]
  if (world.reader === 'is gone') child.stdout?.destroy()
  if (world.reader === 'goes after the first bytes') child.stdout?.once('data', () => child.stdout?.destroy())
  answerWhenAsked(child.stdout, form, call, {
    type: (keys) => void child.stdin?.write(keys),
    stop: () => (form === 'terminal' ? child.stdin?.write('\u0003') : child.kill('SIGTERM')),
  })
  // Nothing can show that the service is ready.
  if (call.until && /^(.* )?>/.test(world.redirections)) {
    setTimeout(() => child.kill('SIGTERM'), 4_000).unref()
  }
  let hung = false
  const timer = setTimeout(() => {
    hung = true
    for (const pid of processesOf(world)) kill(pid)
    child.kill('SIGKILL')
  }, patience)
  const ended = new Promise<[number | null, NodeJS.Signals | null]>((resolve) =>
    child.once('close', (...how) => resolve(how)),
  )
  void send(world.signals, child, ended)
  const [exitCode, signal] = await ended
  clearTimeout(timer)
  return { exitCode, signal, hung, stdout: stdout(), stderr: stderr() }
}

async function send(signals: World['signals'], child: ChildProcess, ended: Promise<unknown>): Promise<void> {
  for (const { signal, after } of signals) {
    await Promise.race([sleep(after), ended])
    if (child.exitCode === null && child.signalCode === null) child.kill(signal)
  }
}

function startOnTerminal(world: World, line: string): ChildProcess {
  const sized = `stty cols ${world.columns} rows 24 </dev/tty; ${line}`
  return spawn('script', ['--quiet', '--flush', '--return', '--command', sized, '/dev/null'], {
    env: { TERM: 'xterm', ...world.env, SHELL: '/bin/sh' },
    cwd: world.here,
    stdio: 'pipe',
  })
}

function quote(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`
}

/** Processes of a run that are still alive, found by a variable that all of them inherit. */
export function processesOf({ root }: World): number[] {
  if (!existsSync('/proc/self/environ')) return []
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(`TEST_WORLD=${root}`)
      } catch {
        return false
      }
    })
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {}
}

export function removeWorld({ root }: World): void {
  openDirectories(root)
  rmSync(root, { recursive: true, force: true, maxRetries: 5 })
}

/** Makes read-only directories deletable. */
function openDirectories(directory: string): void {
  chmodSync(directory, 0o700)
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    if (entry.isDirectory()) openDirectories(join(directory, entry.name))
  }
}
