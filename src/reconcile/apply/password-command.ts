import { Failure } from '../../contract/failure.ts'
import type { Clock } from '../../system/clock.ts'
import { describeSystemError } from '../../system/describe-system-error.ts'
import { splitCommand } from '../../system/split-command.ts'
import { visibleJson } from '../../terminal/strip-controls.ts'

/** Maximum duration of one run, in ms. */
const maxDuration = 60_000

/** Maximum size of the output, in bytes. */
const maxOutput = 64 * 1024

export interface PasswordCommandOptions {
  /** The environment and the working directory of the run. */
  env: NodeJS.ProcessEnv
  cwd: string | undefined
  clock: Clock
  signal: AbortSignal
}

/** @throws Failure `usage` unless the command line has a program */
export function readPasswordCommand(line: string): readonly [string, ...string[]] {
  const [program, ...words] = splitCommand(line) ?? []
  if (program !== undefined && program !== '') return [program, ...words]
  throw new Failure('usage', `Invalid password command: ${visibleJson(line)}`, {
    hint: 'Give a program and its arguments. Close each quote.',
  })
}

/**
 * Runs a command once, without a shell, and returns the first line of its output. The command receives the email of
 * the user in CHATCTL_EMAIL.
 *
 * @throws Failure `incomplete` if the command fails or its first line is empty; the reason of the signal
 */
export async function runPasswordCommand(
  [program, ...words]: readonly [string, ...string[]],
  email: string,
  { env, cwd, clock, signal }: PasswordCommandOptions,
): Promise<string> {
  const { spawn } = await import('node:child_process')
  signal.throwIfAborted()
  const ended = new AbortController()
  const child = spawn(program, words, {
    cwd,
    env: { ...env, CHATCTL_EMAIL: email },
    stdio: ['ignore', 'pipe', 'inherit'],
    windowsHide: true,
  })
  const stop = () => child.kill('SIGKILL')
  let problem: string | undefined
  let output = ''
  const endWith = (words: string) => {
    problem ??= words
    stop()
  }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
    if (output.length > maxOutput) endWith('wrote more than 64 KiB')
  })
  signal.addEventListener('abort', stop, { once: true })
  clock.sleep(maxDuration, ended.signal).then(
    () => endWith('did not end within a minute'),
    () => {},
  )
  const status = await new Promise<string | number>((resolve) => {
    child.once('error', (error) =>
      resolve(`cannot start ${visibleJson(program)}: ${describeSystemError(error)}`),
    )
    child.once('close', (code, by) => resolve(code ?? by ?? 'unknown'))
  })
  ended.abort()
  signal.removeEventListener('abort', stop)
  signal.throwIfAborted()
  const [password = ''] = output.split(/\r?\n/, 1)
  if (problem === undefined && status === 0 && password !== '') return password
  const failed = typeof status === 'number' ? `exited with code ${status}` : `failed: ${status}`
  const reason = problem ?? (status === 0 ? 'wrote no password in its first line' : failed)
  throw new Failure('incomplete', `The password command for ${visibleJson(email)} ${reason}`)
}
