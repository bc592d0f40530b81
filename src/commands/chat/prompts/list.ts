import { LocalCommand } from '../../../cli/local-command.ts'
import { Failure } from '../../../contract/failure.ts'
import { promptsView } from '../../../view/chat.ts'

export default class ChatPromptsList extends LocalCommand {
  static override summary = 'List the prompts on this machine'
  static override description = 'The description of a prompt is its first line.'
  static override view = promptsView
  static override examples = LocalCommand.toExamples({
    'List the prompts': 'chatctl chat prompts list',
    'Show the variables of each prompt': 'chatctl chat prompts list --fields name,variables',
  })

  async run(): Promise<void> {
    const { context } = await this.start(ChatPromptsList)
    const { output } = context
    const { parsePrompt } = await import('../../../config/prompts/prompt-file.ts')
    const { PromptLibrary } = await import('../../../config/prompts/prompt-library.ts')
    const library = new PromptLibrary(context.directories)
    const rows = []
    for (const name of library.names()) {
      const path = library.pathOf(name)
      try {
        const { description, model = null, variables } = parsePrompt(path, library.read(name))
        rows.push({ name, description, model, variables, path })
      } catch (error) {
        if (!(error instanceof Failure)) throw error
        await output.warn(error.message)
        rows.push({ name, description: null, model: null, variables: null, path })
      }
    }
    await output.show(promptsView, rows)
    if (rows.length === 0) output.progress('No prompts. Create one with: chatctl chat prompts set NAME')
  }
}
