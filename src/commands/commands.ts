import * as Args from '@oclif/core/args'
import type { CatalogCommand } from '../cli/catalog/describe-command.ts'
import { readLine } from '../cli/line/read-line.ts'
import { LocalCommand } from '../cli/local-command.ts'
import { commandsView } from '../view/catalog.ts'

export default class Commands extends LocalCommand {
  static override summary = 'List the commands, for people and programs'
  static override description =
    'The effect says whether a command reads, changes the service, or changes this machine. With COMMAND and --json, each command also has its arguments, flags, examples, requests, permissions, and exit codes, and the JSON Schema of what its --json prints. "x-untrusted" in a schema marks text that other people or a model may have written.'
  static override view = commandsView
  static override examples = LocalCommand.toExamples({
    'List all commands': 'chatctl commands',
    'Describe a command for a program': 'chatctl commands users import --json',
    'Print the JSON Schema of the output of a command': "chatctl commands chat send --jq '.[0].schema'",
  })
  static override args = {
    command: Args.string({
      description:
        'Names of commands or groups, such as users import (default: all commands, without details)',
      multiple: true,
      ignoreStdin: true,
    }),
  }

  async run(): Promise<void> {
    const { args, context } = await this.start(Commands)
    const { describeCommand, summarize } = await import('../cli/catalog/describe-command.ts')
    const { permissionsFor } = await import('../cli/context/required-permissions.ts')
    const { commands: all, topics } = this.config
    const commands = (all as unknown as CatalogCommand[]).filter(({ hidden }) => !hidden)
    const ids = commands.map(({ id }) => id).sort()
    const wanted = args.command && (await findIds(args.command.join(' ').split(' '), ids))
    const shown = (wanted ?? ids).flatMap((id) => commands.find((command) => command.id === id) ?? [])
    const rows = shown.map(async (command) => {
      if (!wanted) return summarize(command)
      const permissions = await permissionsFor(command.requests.calls)
      return describeCommand(command, { commands, topics }, permissions)
    })
    await context.output.show(commandsView, await Promise.all(rows))
  }
}

/**
 * The commands that words name. A group contains all its commands.
 * @param above the command before the words, if it is also a group
 * @throws Failure `usage` for a word that names none
 */
async function findIds(
  words: readonly string[],
  ids: readonly string[],
  above: readonly string[] = [],
): Promise<string[]> {
  if (words.length === 0) return []
  const { id, path, leading, rest } = readLine(words, ids)
  if (path.length === 0 || (id === undefined && rest.length > 0)) {
    const { unknownCommand } = await import('../cli/errors/unknown-command.ts')
    throw unknownCommand({ path: path.length === 0 ? above : path, leading, rest }, ids)
  }
  const group = ids.filter((one) => one.startsWith(`${path.join(':')}:`))
  const others = await findIds(rest, ids, group.length === 0 ? [] : path)
  return [...new Set([...(id === undefined ? group : [id]), ...others])]
}
