import type { ChildProcess, SpawnOptions, spawnSync as SpawnSync } from 'node:child_process'
import { win32 } from 'node:path'
import { type Clock, describeDuration } from './clock.ts'
import { describeSystemError } from './describe-system-error.ts'

export type Command = readonly [program: string, ...words: string[]]

export interface CommandOptions {
  env: NodeJS.ProcessEnv
  cwd: string | undefined
  clock: Clock
  signal: AbortSignal
  /** Maximum duration, in ms. */
  maxDuration: number
  /** Its stdin (default: none). */
  input?: string
  /** Whether it may use the terminal of this process, for example to ask for a passphrase. */
  usesTerminal?: boolean
  /** Receives its stderr (default: stderr of this process). */
  onMessage?: (text: string) => void
  /** Registers how to stop it if this process ends first. @returns the function to call at its end */
  untilEnded?: (stop: () => void) => () => void
}

/** Maximum size of the output, in bytes. */
const maxOutput = 64 * 1024

/** Time to read the rest of its output after its end, in ms. */
const grace = 500

/**
 * Runs a command without a shell, and by default without input and without a terminal. A command that takes too long, writes too
 * much, or is interrupted is killed together with the processes that it has started.
 * @returns its stdout, or why it failed, for the end of a sentence: `exited with code 1`
 * @throws the reason of the signal
 */
export async function runCommand(
  [program, ...words]: Command,
  { env, cwd, clock, signal, maxDuration, input, usesTerminal, onMessage, untilEnded }: CommandOptions,
): Promise<{ output: Buffer } | { problem: string; isMissing?: boolean }> {
  const { spawn, spawnSync } = await import('node:child_process')
  signal.throwIfAborted()
  const options: SpawnOptions = {
    cwd,
    env,
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', onMessage ? 'pipe' : 'inherit'],
    windowsHide: true,
    // A process group, so that all of it can be killed. Windows would open a window.
    detached: process.platform !== 'win32' && !usesTerminal,
  }
  let child: ChildProcess
  try {
    child = spawn(program, words, options)
  } catch (error) {
    return { problem: startProblem(program, error) }
  }
  const chunks: Buffer[] = []
  let size = 0
  const ended = new AbortController()
  const killAll = () => kill(child, env, spawnSync)
  const exited = untilEnded?.(killAll)
  try {
    return await new Promise((resolve, reject) => {
      const stop = (settle: () => void) => {
        killAll()
        // A process outside of the group may keep the pipes open.
        child.stdout?.destroy()
        child.stderr?.destroy()
        settle()
      }
      const fail = (problem: string) => stop(() => resolve({ problem }))
      signal.addEventListener('abort', () => stop(() => reject(signal.reason)), { signal: ended.signal })
      clock.sleep(maxDuration, ended.signal).then(
        () => fail(`did not end within ${describeDuration(maxDuration)}`),
        () => {},
      )
      child.stdout?.on('data', (chunk: Buffer) => {
        size += chunk.length
        if (size > maxOutput) fail(`wrote more than ${maxOutput / 1024} KiB`)
        else chunks.push(chunk)
      })
      if (onMessage) child.stderr?.setEncoding('utf8').on('data', onMessage)
      child.once('error', (error: NodeJS.ErrnoException) =>
        resolve({ problem: startProblem(program, error), isMissing: error.code === 'ENOENT' }),
      )
      // A command may end without reading its input.
      child.stdin?.on('error', () => {}).end(input)
      child.once('exit', () => void releaseStreams(child, clock, ended.signal))
      child.once('close', (code, by) => {
        if (code === 0) resolve({ output: Buffer.concat(chunks) })
        else resolve({ problem: code === null ? `failed: ${by}` : `exited with code ${code}` })
      })
    })
  } finally {
    ended.abort()
    exited?.()
  }
}

/** A process that it has started may keep its streams open, as ssh does with ControlPersist. */
async function releaseStreams(child: ChildProcess, clock: Clock, signal: AbortSignal): Promise<void> {
  try {
    await clock.sleep(grace, signal)
    // Reads what has arrived, if other work has blocked this thread meanwhile.
    await new Promise((resolve) => setImmediate(resolve))
    child.stdout?.destroy()
    child.stderr?.destroy()
  } catch {
    // The command has ended.
  }
}

/** Why a program did not start, for the end of a sentence. */
function startProblem(program: string, error: unknown): string {
  return `failed: cannot start "${program}": ${describeSystemError(error)}`
}

/** Together with the processes that it has started. */
function kill(child: ChildProcess, env: NodeJS.ProcessEnv, spawnSync: typeof SpawnSync): void {
  if (child.pid === undefined) return
  if (process.platform === 'win32') {
    // Before its own end, because the others are found by their parent.
    const taskkill = win32.join(env['SystemRoot'] ?? 'C:\\Windows', 'System32', 'taskkill.exe')
    const tree = ['/F', '/T', '/PID', `${child.pid}`]
    // Another process may have the ID of one that has ended.
    if (child.exitCode === null) spawnSync(taskkill, tree, { stdio: 'ignore', windowsHide: true })
    child.kill('SIGKILL')
    return
  }
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    // It has ended, or it uses the terminal and has no process group.
    child.kill('SIGKILL')
  }
}
