import type { Command } from '@oclif/core/command'
import { Config } from '@oclif/core/config'
import type { CommandClass } from '../cli/base-command.ts'
import { reportError, wantsJson } from '../cli/errors/render-error.ts'
import type { Host } from '../cli/host.ts'
import {
  type CommandLine,
  isOwnFlag,
  namedFlags,
  readLine,
  readShortForm,
  wordsBeforeFlags,
} from '../cli/line/read-line.ts'
import { Streams } from '../cli/output/streams.ts'
import { createSingleCommandPlugin, createStaticPlugin, readCommandIds } from '../cli/static-plugin.ts'

/** The commands that a run can choose from. */
export interface CommandSet {
  /** IDs of all commands, such as `settings:api:set`. */
  commandIds: readonly string[]
  loadCommand(id: string): Command.Class
}

export const commandsThatNeedAll = ['commands', 'complete']

/**
 * Runs one command line. A process can run any number of them.
 * @returns the exit code; 0 if the reader of stdout closed it, which aborts the run
 */
export async function run(argv: readonly string[], host: Host, program: CommandSet): Promise<number> {
  const streams = new Streams(host)
  const stopWatching = streams.watch()
  try {
    const exitCode = await runLine(argv, streams, program)
    return streams.isUnread ? 0 : exitCode
  } finally {
    stopWatching()
  }
}

async function runLine(argv: readonly string[], streams: Streams, program: CommandSet): Promise<number> {
  const { signal } = streams
  try {
    const line = await readCommandLine(argv, program)
    return line.id === undefined || line.isHelp
      ? await runWithoutCommand(line, streams, program)
      : await runCommand(line.id, [...line.leading, ...line.rest], streams, program)
  } catch (error) {
    return reportError(signal.aborted ? signal.reason : error, {
      streams,
      json: wantsJson(argv, streams.host),
      debug: argv.includes('--debug'),
      noColor: argv.includes('--no-color'),
    })
  }
}

/** Words without a command may be a message. */
async function readCommandLine(argv: readonly string[], { commandIds }: CommandSet): Promise<CommandLine> {
  const line = readLine(argv, commandIds)
  if (line.path.length > 0 || line.rest.length === 0) return line
  // Not with `loadCommand`, which counts as a run of the command (src/boot/main.ts).
  const { default: ChatSend } = await import('../commands/chat/send.ts')
  return readShortForm(argv, commandIds, namedFlags({ ...ChatSend.baseFlags, ...ChatSend.flags })) ?? line
}

async function runCommand(
  id: string,
  words: string[],
  streams: Streams,
  { loadCommand }: CommandSet,
): Promise<number> {
  const { installation } = streams.host
  const plugin = commandsThatNeedAll.includes(id)
    ? createStaticPlugin(installation, loadCommand)
    : createSingleCommandPlugin(installation, id, loadCommand(id))
  const config = await Config.load({ root: plugin.root, plugins: new Map([[plugin.name, plugin]]) })
  const Runnable = (await config.findCommand(id, { must: true }).load()) as unknown as CommandClass
  const exitCode = await new Runnable(words, config, streams).execute()
  if (exitCode === undefined) await streams.demandWholeStdout()
  return exitCode ?? 0
}

/** Shows help, or the version. @throws Failure `usage` for an unknown command */
async function runWithoutCommand(
  line: CommandLine,
  streams: Streams,
  { loadCommand }: CommandSet,
): Promise<number> {
  const { installation } = streams.host
  const { path, leading, rest, isHelp } = line
  const { commands, topics, version } = createStaticPlugin(installation, loadCommand)
  if (/^(--version|-v)$/i.test(rest[0] ?? '') && path.length === 0) {
    await streams.writeData(`chatctl ${version}\n`)
    return 0
  }
  const isGroup = path.length > 0 && rest.every((word) => word.startsWith('-') && !isOwnFlag(word))
  if (isHelp || isGroup || (path.length === 0 && leading.length === 0 && rest.length === 0)) {
    const { showHelp } = await import('../cli/help/show-help.ts')
    const noColor = [...leading, ...rest].includes('--no-color')
    if (await showHelp([...path, ...wordsBeforeFlags(rest)], { commands, topics }, streams, noColor)) return 0
  }
  const { unknownCommand } = await import('../cli/errors/unknown-command.ts')
  throw unknownCommand(line, readCommandIds(installation))
}
