import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { type ProcessOptions, type Run, startBuilt } from './run-chatctl.ts'
import type { Sandbox } from './sandbox.ts'

/** Runs the built program to its end, in a separate process. */
export async function runProgram(
  sandbox: Sandbox,
  args: readonly string[],
  options: ProcessOptions = {},
): Promise<Run> {
  const child = startBuilt(sandbox, args, options)
  child.stdin?.on('error', () => {})
  child.stdin?.end(options.stdin ?? '')
  const timer = setTimeout(() => child.kill('SIGKILL'), options.timeout ?? 20_000)
  const said = Promise.all([child.stdout, child.stderr].map((stream) => (stream ? text(stream) : '')))
  const [exitCode] = (await once(child, 'close')) as [number | null]
  clearTimeout(timer)
  const [stdout = '', stderr = ''] = await said
  return { exitCode, stdout, stderr }
}
