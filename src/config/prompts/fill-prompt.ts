import { Failure } from '../../contract/failure.ts'
import { nearest } from '../../contract/nearest-word.ts'
import { fillTemplate, inputVariable, type Prompt, variablesOf } from './prompt-file.ts'

/** A prompt whose variables have values. */
export interface FilledPrompt extends Pick<Prompt, 'model' | 'temperature' | 'maxTokens'> {
  system?: string
  /** The body with the text of the user. Empty if there is neither. */
  message: string
}

interface Filling {
  /** Name of the prompt, for errors. */
  name: string
  values: ReadonlyMap<string, string>
  /** The text of the user: replaces `{{input}}`, or else follows the body after a blank line. */
  input: string
  /** The hint that tells how to set these variables. */
  hintFor(variables: readonly string[]): string
}

/** @throws Failure `usage` that names every variable without a value, or every value without a variable */
export function fillPrompt(prompt: Prompt, { name, values, input, hintFor }: Filling): FilledPrompt {
  const { model, temperature, maxTokens, body, variables } = prompt
  const takesInput = variablesOf(body).includes(inputVariable)
  const unknown = [...values.keys()].filter((given) => !variables.includes(given))
  if (unknown.length > 0) throw unknownVariables(name, unknown, variables)
  const missing = variables.filter((variable) => !values.has(variable))
  if (missing.length > 0) {
    throw new Failure('usage', `Prompt "${name}" needs a value for ${missing.join(', ')}`, {
      hint: hintFor(missing),
    })
  }
  if (takesInput && input.trim() === '') {
    throw new Failure('usage', `Prompt "${name}" needs a message: it contains {{${inputVariable}}}`)
  }
  const all = new Map([...values, [inputVariable, input]])
  const parts = [fillTemplate(body, all), takesInput ? '' : input].filter((part) => part !== '')
  return {
    message: parts.join('\n\n'),
    ...(model !== undefined && { model }),
    ...(temperature !== undefined && { temperature }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(prompt.system.length > 0 && { system: fillTemplate(prompt.system, all) }),
  }
}

function unknownVariables(name: string, unknown: readonly string[], variables: readonly string[]): Failure {
  if (unknown.includes(inputVariable)) {
    return new Failure('usage', `${inputVariable} is the message, not a variable that can be set`)
  }
  const known = variables.length === 0 ? 'it has no variables' : `its variables: ${variables.join(', ')}`
  const meant = nearest(unknown[0] ?? '', variables)
  return new Failure('usage', `Prompt "${name}" has no variable ${unknown.join(', ')} (${known})`, {
    hint: meant === undefined ? undefined : `Did you mean ${meant}?`,
  })
}
