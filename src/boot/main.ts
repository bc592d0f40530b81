import type { Command } from '@oclif/core/command'
import { endProcess } from './end-process.ts'
import { createProcessHost } from './process-host.ts'
import { run } from './run.ts'

/** The id of every command, put in by the build. */
declare const commandIds: readonly string[]

/**
 * Runs the command line of this process, and ends the process with its exit code.
 *
 * @param root file URL of the package's directory
 * @param onEnd is told the id of the command that ran, `settings:get`; `help` where none did
 */
export async function main(argv: string[], root: URL, onEnd: (command: string) => void): Promise<never> {
  // oclif's own switch: there is no theme, so it need not look for one in two directories.
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
  const host = createProcessHost({ onReaderGone: () => end(0) })
  return end(await run(argv, host, { root, commandIds, loadCommand: load }))
}

/** The bundler puts every command into the main file, to be evaluated when it is asked for. */
function loadCommand(id: string): Command.Class {
  return require(`../commands/${id.replaceAll(':', '/')}.ts`).default
}
