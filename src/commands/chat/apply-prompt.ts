import type { Context } from '../../cli/context/context.ts'
import { textFlag } from '../../cli/flags/flag-types.ts'
import { demandText } from '../../cli/input/read-input.ts'
import { resolveAlias } from '../../config/model-aliases.ts'
import type { FilledPrompt } from '../../config/prompts/fill-prompt.ts'
import { Failure } from '../../contract/failure.ts'

/** The values of `promptFlags`. */
export interface PromptChoice {
  prompt?: string | undefined
  var?: readonly string[] | undefined
}

/** The flags that select a prompt and fill its variables. */
export const promptFlags = {
  prompt: textFlag({ helpValue: 'NAME', summary: 'Prompt to use: see chat prompts' }),
  var: textFlag({
    helpValue: 'KEY=VALUE',
    multiple: true,
    multipleNonGreedy: true,
    summary: 'Value of a variable of the prompt',
  }),
}

/**
 * Fills the prompt that the flags select. Its model has precedence over a default, but not over `--model`.
 *
 * @param text of the person; without a prompt, it is the message
 * @param argument name of the argument, for errors; undefined if the message may be empty
 * @throws Failure `not_found` for an unknown prompt; `refused` for an invalid one; `usage` for a variable that
 *   is missing or unknown, or if the message is empty
 */
export async function applyPrompt(
  text: string,
  argument: string | undefined,
  flags: PromptChoice,
  { directories, options: { model, aliases } }: Context,
): Promise<FilledPrompt> {
  const { prompt: name } = flags
  const chosen = model.value === undefined ? {} : { model: model.value }
  const demand = (message: string) => (argument === undefined ? message : demandText(message, argument))
  if (name === undefined && flags.var) throw new Failure('usage', '--var requires --prompt')
  if (name === undefined) return { message: demand(text), ...chosen }
  const values = readVariables(flags.var ?? [])
  const { fillPrompt } = await import('../../config/prompts/fill-prompt.ts')
  const { parsePrompt } = await import('../../config/prompts/prompt-file.ts')
  const { PromptLibrary } = await import('../../config/prompts/prompt-library.ts')
  const library = new PromptLibrary(directories)
  const filled = fillPrompt(parsePrompt(library.pathOf(name), library.read(name)), {
    name,
    values,
    input: text,
    hintFor: (missing) => `Add: ${missing.map((variable) => `--var ${variable}=VALUE`).join(' ')}`,
  })
  demand(filled.message)
  if (model.source === 'flag' || filled.model === undefined) return { ...filled, ...chosen }
  return { ...filled, model: resolveAlias(filled.model, aliases.value) }
}

/** @throws Failure `usage` */
function readVariables(assignments: readonly string[]): Map<string, string> {
  const values = new Map<string, string>()
  for (const assignment of assignments) {
    const at = assignment.indexOf('=')
    if (at < 1) throw new Failure('usage', `--var "${assignment}" is not KEY=VALUE`)
    const name = assignment.slice(0, at)
    if (values.has(name)) throw new Failure('usage', `--var ${name} was given twice`)
    values.set(name, assignment.slice(at + 1))
  }
  return values
}
