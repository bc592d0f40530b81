import { quoteWord } from '../../../cli/command-line.ts'
import type { Context } from '../../../cli/context/context.ts'
import { requiredArgument, textFlag } from '../../../cli/flags/flag-types.ts'
import { dryRunFlag } from '../../../cli/flags/shared-flags.ts'
import { editDocument, keepEdit } from '../../../cli/input/edit-document.ts'
import { hasPipedStdin, readStdin, readTextFile } from '../../../cli/input/read-input.ts'
import { LocalCommand } from '../../../cli/local-command.ts'
import { Failure } from '../../../contract/failure.ts'
import { maxPromptBytes } from '../../../system/files/read-named-file.ts'
import { promptSetView } from '../../../view/chat.ts'

const newPrompt = `---
# model: MODEL
# temperature: 0.2
# max_tokens: 500
# system: Instructions for the model
---

`

export default class ChatPromptsSet extends LocalCommand {
  static override summary = 'Create or replace a prompt'
  static override description =
    'The text comes from --file or stdin. In a terminal without --file, it is edited in $VISUAL, $EDITOR, or vi (notepad on Windows). {{name}} is a variable, {{input}} is replaced by the message, and \\{{ is a literal {{. Without {{input}}, the message follows the prompt. An optional front matter, between two lines of ---, sets model, temperature, max_tokens, and system. The text is checked before it is stored.'
  static override completes = { name: 'prompt' } as const
  static override view = promptSetView
  static override examples = LocalCommand.toExamples({
    'Create a prompt with a variable':
      'echo "Translate to {{language}}:" | chatctl chat prompts set translate',
    'Use a file': 'chatctl chat prompts set review --file review.md',
    'Edit a prompt in your editor': 'chatctl chat prompts set review',
  })
  static override args = { name: requiredArgument('Name of the prompt: letters, digits, and . _ -') }
  static override flags = {
    file: textFlag({ char: 'f', helpValue: 'FILE', summary: 'File with the text, or - for stdin' }),
    'dry-run': dryRunFlag,
  }

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(ChatPromptsSet)
    const { name } = args
    const { parsePrompt } = await import('../../../config/prompts/prompt-file.ts')
    const { PromptLibrary } = await import('../../../config/prompts/prompt-library.ts')
    const library = new PromptLibrary(context.directories)
    const path = library.pathOf(name)
    const replaced = library.has(name)
    const text =
      flags.file !== undefined || hasPipedStdin(context)
        ? await readText(flags.file, context, parsePrompt)
        : await editPrompt(name, replaced ? library.read(name) : newPrompt, context, parsePrompt)
    if (text === undefined) return context.output.notice('No changes.')
    if (context.dryRun) return this.showLocalChange({ name, replaced, path })
    library.write(name, text)
    await context.output.show(promptSetView, { name, replaced, path })
  }
}

type Check = (file: string, text: string) => unknown

/** @throws Failure `refused` for an invalid text */
async function readText(file: string | undefined, context: Context, check: Check): Promise<string> {
  const isFile = file !== undefined && file !== '-'
  const text = isFile
    ? readTextFile(file, context, maxPromptBytes)
    : await readStdin('the prompt', context, maxPromptBytes)
  check(isFile ? file : 'stdin', text)
  return text
}

/** @returns undefined if nothing was changed */
async function editPrompt(
  name: string,
  text: string,
  context: Context,
  check: Check,
): Promise<string | undefined> {
  if (!context.prompter.canAsk) {
    throw new Failure('input_needed', 'The prompt has no text, and an editor requires a terminal', {
      hint: 'Give the text with --file, or on stdin.',
    })
  }
  const fileName = `${name}.md`
  const command = context.env['VISUAL'] || context.env['EDITOR'] || undefined
  const giveUp = (edited: string, error: unknown) =>
    keepEdit(edited, error, context, {
      name,
      extension: 'md',
      useWith: (path) => `chatctl chat prompts set ${name} --file ${quoteWord(path)}`,
    })
  const read = (edited: string) => check(fileName, edited)
  const edited = await editDocument(text, { fileName, command, read, giveUp }, context)
  return edited?.text
}
