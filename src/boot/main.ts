import type { Command } from '@oclif/core/command'
import { restoreHeapFlags } from './bound-heap.ts'
import { endProcess } from './end-process.ts'
import { createProcessHost } from './process-host.ts'
import { run } from './run.ts'

/** The ID of every command, set by the build. */
declare const commandIds: readonly string[]

/**
 * Runs the command line of this process, and ends the process with its exit code.
 *
 * @param root file URL of the package's directory
 * @param onEnd receives the ID of the command that ran, such as `settings:get`, or `help`
 */
export async function main(
  argv: string[],
  root: URL,
  loadCommand: (id: string) => Command.Class,
  onEnd: (command: string) => void,
): Promise<never> {
  // oclif would search two directories for a theme.
  process.env['CHATCTL_DISABLE_THEME'] = '1'
  let command = 'help'
  const load = (id: string): Command.Class => {
    command = id
    return loadCommand(id)
  }
  const end = (exitCode: number): never => {
    restoreHeapFlags()
    onEnd(command)
    return endProcess(exitCode)
  }
  const host = createProcessHost({ onReaderGone: () => end(0) })
  return end(await run(argv, host, { root, commandIds, loadCommand: load }))
}
