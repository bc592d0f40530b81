import { requiredArguments } from '../../../cli/flags/flag-types.ts'
import { dryRunFlag, yesFlag } from '../../../cli/flags/shared-flags.ts'
import { LocalCommand } from '../../../cli/local-command.ts'
import { promptsDeletedView } from '../../../view/chat.ts'

export default class ChatPromptsDelete extends LocalCommand {
  static override summary = 'Delete prompts'
  static override description = 'If one of the prompts does not exist, none is deleted.'
  static override completes = { name: 'prompt' } as const
  static override view = promptsDeletedView
  static override examples = LocalCommand.toExamples({
    'Delete a prompt, after confirmation': 'chatctl chat prompts delete review',
    'Delete two prompts': 'chatctl chat prompts delete review commit --yes',
  })
  static override args = { name: requiredArguments('Name of the prompt; several separated by spaces') }
  static override flags = { yes: yesFlag, 'dry-run': dryRunFlag }

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(ChatPromptsDelete)
    const { PromptLibrary } = await import('../../../config/prompts/prompt-library.ts')
    const library = new PromptLibrary(context.directories)
    const names = [...new Set(args.name)]
    library.demand(names)
    if (context.dryRun) return this.showLocalChange({ delete: names })
    if (!flags.yes) await context.prompter.confirm(`Delete ${names.join(', ')}?`)
    const deleted: { name: string; path: string }[] = []
    try {
      for (const name of names) {
        library.remove(name)
        deleted.push({ name, path: library.pathOf(name) })
      }
    } finally {
      if (deleted.length > 0) await context.output.show(promptsDeletedView, deleted)
    }
  }
}
