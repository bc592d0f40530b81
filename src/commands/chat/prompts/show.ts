import { requiredArgument } from '../../../cli/flags/flag-types.ts'
import { LocalCommand } from '../../../cli/local-command.ts'
import { promptFileView } from '../../../view/chat.ts'

export default class ChatPromptsShow extends LocalCommand {
  static override summary = 'Print a prompt'
  static override description =
    'Prints the file of the prompt unchanged, so that chat prompts set can read it again.'
  static override completes = { name: 'prompt' } as const
  static override view = promptFileView
  static override examples = LocalCommand.toExamples({
    'Print a prompt': 'chatctl chat prompts show review',
    'Copy a prompt': 'chatctl chat prompts show review > review.md',
    'List the variables of a prompt': 'chatctl chat prompts show review --jq .variables[]',
  })
  static override args = { name: requiredArgument('Name of the prompt') }

  async run(): Promise<void> {
    const { args, context } = await this.start(ChatPromptsShow)
    const { output } = context
    const { parsePrompt } = await import('../../../config/prompts/prompt-file.ts')
    const { PromptLibrary } = await import('../../../config/prompts/prompt-library.ts')
    const library = new PromptLibrary(context.directories)
    const { name } = args
    const text = library.read(name)
    const path = library.pathOf(name)
    // An invalid file can be shown as text, so that it can be corrected.
    if (output.showsText(promptFileView)) return output.show(promptFileView, { text })
    const { model = null, temperature = null, maxTokens = null, variables } = parsePrompt(path, text)
    const shown = { name, path, model, temperature, max_tokens: maxTokens, variables, text }
    await output.show(promptFileView, shown)
  }
}
