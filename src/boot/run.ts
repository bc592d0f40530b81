import type { Command } from '@oclif/core/command'
import { Config } from '@oclif/core/config'
import { getHelpFlagAdditions, normalizeArgv } from '@oclif/core/help'
import type { CommandClass } from '../cli/base-command.ts'
import { reportError } from '../cli/errors/render-error.ts'
import { findCommand, isOwnFlag, moveFlagsAfterCommand } from '../cli/find-command.ts'
import { wantsJson } from '../cli/flags/wants-json.ts'
import type { Host, Installation } from '../cli/host.ts'
import { Streams } from '../cli/output/streams.ts'
import { createSingleCommandPlugin, createStaticPlugin } from '../cli/static-plugin.ts'
import { readCatalog } from '../cli/unknown-command/command-catalog.ts'

/** The commands that a run can choose from. */
export interface CommandSet {
  /** IDs of all commands, such as `settings:api:set`. */
  commandIds: readonly string[]
  loadCommand(id: string): Command.Class
}

/** Commands that need the declarations of all commands. */
export const commandsThatNeedAll = ['complete']

/**
 * Runs one command line. A process can run any number of them.
 *
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
  const { installation } = streams.host
  const words = normalize(argv, program.commandIds)
  try {
    const id = findCommand(words, program.commandIds)
    const plugin =
      id === undefined || commandsThatNeedAll.includes(id)
        ? createStaticPlugin(installation, program.loadCommand)
        : createSingleCommandPlugin(installation, id, program.loadCommand(id))
    if (words[0] === '--version') {
      await streams.writeData(`chatctl ${plugin.version}\n`)
      return 0
    }
    const config = await Config.load({ root: plugin.root, plugins: new Map([[plugin.name, plugin]]) })
    const [named = '', ...rest] = normalizeArgv(config, [...words])
    const command = asksForHelp(words, config) ? undefined : config.findCommand(named)
    if (command) {
      const Runnable = (await command.load()) as unknown as CommandClass
      const exitCode = await new Runnable(rest, config, streams).execute()
      if (exitCode === undefined) await streams.demandWholeStdout()
      return exitCode ?? 0
    }
    const isHelp = asksForHelp(words, config)
    if (!isHelp && (!config.findTopic(named) || rest.some(isOwnFlag)))
      throw await unknown(words, installation)
    const { showHelp } = await import('../cli/help/show-help.ts')
    const path = isHelp ? leadingWords(words) : named.split(':')
    if (!(await showHelp(path, config, streams, argv.includes('--no-color'))))
      throw await unknown(words, installation)
    return 0
  } catch (error) {
    const failure = isUnknownCommand(error) ? await unknown(words, installation) : error
    return reportError(signal.aborted ? signal.reason : failure, {
      streams,
      json: wantsJson(argv, streams.host),
      debug: argv.includes('--debug'),
      noColor: argv.includes('--no-color'),
    })
  }
}

async function unknown(words: readonly string[], installation: Installation): Promise<Error> {
  const { unknownCommand } = await import('../cli/unknown-command/unknown-command.ts')
  return unknownCommand(words, readCatalog(installation))
}

/** `chatctl help settings get` becomes `chatctl settings get --help`. */
function normalize(argv: readonly string[], ids: readonly string[]): readonly string[] {
  const words = moveFlagsAfterCommand(argv, ids)
  return words[0] === 'help' ? [...words.slice(1), '--help'] : words
}

/** The words before the first flag. */
function leadingWords(words: readonly string[]): readonly string[] {
  const end = words.findIndex((word) => word.startsWith('-'))
  return end === -1 ? words : words.slice(0, end)
}

function asksForHelp(words: readonly string[], config: Config): boolean {
  if (words.length === 0) return true
  const flags = getHelpFlagAdditions(config)
  const end = words.indexOf('--')
  return (end === -1 ? words : words.slice(0, end)).some((word) => flags.includes(word))
}

/** oclif has no separate class for this error. */
function isUnknownCommand(error: unknown): boolean {
  return error instanceof Error && /^command .* not found\.?$/is.test(error.message)
}
