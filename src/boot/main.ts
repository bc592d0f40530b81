import type { Command } from '@oclif/core/command'
import type { Host } from '../cli/host.ts'
import { endProcess } from './end-process.ts'
import { createProcessHost } from './process-host.ts'
import { run } from './run.ts'

/** The ID of every command, set by the build. */
declare const commandIds: readonly string[]

/** What the loader of the bundles does. */
interface Loader extends Pick<Host, 'keepHeapSmall'> {
  loadCommand(id: string): Command.Class
  /** Receives the ID of the command that ran, such as `settings:get`, or `help`. */
  onEnd(command: string): void
}

/**
 * Runs the command line of this process, and ends the process with its exit code.
 *
 * @param root file URL of the package's directory
 */
export async function main(argv: string[], root: URL, loader: Loader): Promise<never> {
  const { keepHeapSmall, loadCommand, onEnd } = loader
  // oclif would search two directories for a theme.
  process.env['CHATCTL_DISABLE_THEME'] = '1'
  let command = 'help'
  const load = (id: string): Command.Class => {
    command = id
    return loadCommand(id)
  }
  const end = (exitCode: number): never => {
    onEnd(command)
    return endProcess(exitCode)
  }
  const host = createProcessHost({ keepHeapSmall, onReaderGone: () => end(0) })
  return end(await run(argv, host, { root, commandIds, loadCommand: load }))
}
