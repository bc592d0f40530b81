import type { Command } from '@oclif/core/command'
import type { KeychainOptions } from '../auth/credentials/keychain.ts'
import type { Host } from '../cli/host.ts'
import { endProcess } from './end-process.ts'
import { createProcessHost } from './process-host.ts'
import { run } from './run.ts'

/** The ID of every command, set by the build. */
declare const commandIds: readonly string[]

/** What starts the program. */
interface Starter extends Pick<Host, 'expectStreamedReply' | 'installation'> {
  keychainProcess: KeychainOptions['childProcess']
  loadCommand(id: string): Command.Class
  /** Receives the ID of the command that ran, such as `settings:get`, or `help`. */
  onEnd(command: string): void
}

/** Runs the command line of this process, and ends the process with its exit code. */
export async function main(argv: string[], starter: Starter): Promise<void> {
  const { loadCommand, onEnd } = starter
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
  const host = createProcessHost({ ...starter, onReaderGone: () => end(0) })
  end(await run(argv, host, { commandIds, loadCommand: load }))
}
