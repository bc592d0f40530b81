import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Sandbox } from './sandbox.ts'

export const binary = fileURLToPath(new URL('../../bin/run.js', import.meta.url))

export interface Run {
  /** Null when a signal ended it. */
  exitCode: number | null
  stdout: string
  stderr: string
}

export interface RunOptions {
  env?: NodeJS.ProcessEnv
  /** All of stdin; empty unless said. */
  stdin?: string | Uint8Array
  /** A hang is a failure: killed after this many ms. */
  timeout?: number
  cwd?: string
  /** Run in place of the built program: a Node, and a script for it. */
  program?: readonly [node: string, script: string]
}

/** Starts the built program the way a shell would, with pipes for its three streams. */
export function startChatctl(
  sandbox: Sandbox,
  args: readonly string[],
  { env, cwd, program = [process.execPath, binary] }: RunOptions = {},
): ChildProcess {
  const [node, script] = program
  return spawn(node, [script, ...args], {
    env: { ...sandbox.env, ...env },
    cwd: cwd ?? sandbox.home,
    stdio: 'pipe',
  })
}

/** Runs the built program to its end. */
export async function runChatctl(
  sandbox: Sandbox,
  args: readonly string[],
  options: RunOptions = {},
): Promise<Run> {
  const child = startChatctl(sandbox, args, options)
  child.stdin?.on('error', () => {})
  child.stdin?.end(options.stdin ?? '')
  const stdout = collect(child.stdout)
  const stderr = collect(child.stderr)
  const timer = setTimeout(() => child.kill('SIGKILL'), options.timeout ?? 20_000)
  const exitCode = await new Promise<number | null>((resolve) => child.once('close', resolve))
  clearTimeout(timer)
  return { exitCode, stdout: stdout(), stderr: stderr() }
}

function collect(stream: NodeJS.ReadableStream | null): () => string {
  const chunks: Buffer[] = []
  stream?.on('data', (chunk: Buffer) => chunks.push(chunk))
  return () => Buffer.concat(chunks).toString('utf8')
}
