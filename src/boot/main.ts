import type { Command } from '@oclif/core/command'
import { run } from '@oclif/core/run'
import { findCommand } from '../cli/find-command.ts'
import { putFlagsBehindCommand } from '../cli/flags-first.ts'
import { interruption, watchSignals } from '../cli/interruption.ts'
import { demandWholeStdout, watchClosedPipes, writeData } from '../cli/output/streams.ts'
import { reportError } from '../cli/render-error.ts'
import { createSingleCommandPlugin, createStaticPlugin } from '../cli/static-plugin.ts'
import { unknownCommand } from '../cli/unknown-command.ts'
import { wantsJson } from '../cli/wants-json.ts'
import { endProcess } from '../system/end-process.ts'

/** The id of every command, put in by the build. */
declare const commandIds: readonly string[]

/** Commands that look at all the others. */
const lookAround = ['complete', 'doctor']

/**
 * Runs one command line and ends the process with its exit code.
 *
 * @param root file URL of the package's folder
 * @param onEnd is told the id of the command that ran, `settings:get`; `help` where none did
 */
export async function main(argv: string[], root: URL, onEnd: (command: string) => void): Promise<never> {
  let command = 'help'
  const exitCode = await runLine(argv, root, (id) => {
    command = id
  })
  onEnd(command)
  endProcess(exitCode)
}

async function runLine(argv: string[], root: URL, onCommand: (id: string) => void): Promise<number> {
  watchSignals()
  watchClosedPipes()
  // oclif's own switch: there is no theme, so it need not look for one in two folders.
  process.env['CHATCTL_DISABLE_THEME'] = '1'
  const words = normalise(argv)
  const load = (id: string): Command.Class => {
    onCommand(id)
    return loadCommand(id)
  }
  try {
    const id = findCommand(words, commandIds)
    const plugin =
      id === undefined || lookAround.includes(id)
        ? createStaticPlugin(root, load)
        : createSingleCommandPlugin(root, id, load(id))
    if (words[0] === '--version') await writeData(`chatctl ${plugin.version}\n`)
    else await run(words, { root: plugin.root, plugins: new Map([[plugin.name, plugin]]) })
    if (process.exitCode === undefined) await demandWholeStdout()
    return Number(process.exitCode ?? 0)
  } catch (error) {
    const failure = isUnknownCommand(error) ? unknownCommand(words, shownIds()) : error
    return reportError(interruption.aborted ? interruption.reason : failure, {
      json: wantsJson(argv, process.env),
      debug: argv.includes('--debug'),
      noColour: argv.includes('--no-color'),
    })
  }
}

/** The bundler puts every command into the main file, to be evaluated when it is asked for. */
function loadCommand(id: string): Command.Class {
  return require(`../commands/${id.replaceAll(':', '/')}.ts`).default
}

function shownIds(): string[] {
  return commandIds.filter((id) => !loadCommand(id).hidden)
}

/** `chatctl help settings get` and `chatctl settings get --help` are one. */
function normalise(argv: string[]): string[] {
  const words = argv[0]?.startsWith('-') ? putFlagsBehindCommand(argv) : argv
  return words[0] === 'help' ? [...words.slice(1), '--help'] : words
}

/** oclif has no class of its own for it, and two spellings. */
function isUnknownCommand(error: unknown): boolean {
  return error instanceof Error && /^command .* not found\.?$/is.test(error.message)
}
