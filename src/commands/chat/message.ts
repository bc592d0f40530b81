import * as Flags from '@oclif/core/flags'
import type { Context } from '../../cli/context/context.ts'
import {
  argument,
  fileSizeFlag,
  integerFlag,
  numberFlag,
  textFlag,
  textListFlag,
} from '../../cli/flags/flag-types.ts'
import { demandText, readText, readTextValue } from '../../cli/input/read-input.ts'
import { resolveAlias } from '../../config/model-aliases.ts'
import type { FilledPrompt } from '../../config/prompts/fill-prompt.ts'
import { isGiven } from '../../config/resolve-options.ts'
import { Failure } from '../../contract/failure.ts'
import { joinFiles, type MessageParts } from '../../contract/resources/file-block.ts'
import { maxTextBytes } from '../../system/files/read-named-file.ts'
import type { FileLine } from './attach-files.ts'

export const messageArgument = argument(
  'Text to send, followed by text from a pipe. Omit it, or use -, to send only stdin. With -f, put it first, or last in quotes.',
)

export const fileFlags = {
  file: textFlag({
    char: 'f',
    helpValue: 'FILE...',
    multiple: true,
    summary: 'Text files to send; - is stdin',
  }),
  'max-file-size': fileSizeFlag({ summary: 'Maximum size of a file, such as 2m (default: 1m)' }),
}

/** The flags that select a conversation. */
export const continueFlags = {
  context: textFlag({
    helpValue: 'ID',
    summary: 'Conversation to continue (its context_id)',
    exclusive: ['continue'],
  }),
  continue: Flags.boolean({ char: 'c', summary: 'Continue the last conversation of this profile' }),
}

export const systemFlag = textFlag({
  char: 's',
  helpValue: 'TEXT',
  summary: 'System message, @FILE, or - for stdin',
})

/** The flags that request JSON. It is printed as it is, so no output format applies. */
export const schemaFlags = {
  schema: textFlag({
    helpValue: 'FILE|JSON',
    summary: 'Print only JSON that fits this JSON Schema',
    exclusive: ['extract', 'raw', 'stream-format', 'output', 'fields', 'jq'],
  }),
  attempts: integerFlag({
    helpValue: 'N',
    min: 1,
    dependsOn: ['schema'],
    summary: 'Maximum number of replies with --schema (default: 2)',
  }),
}

export const messageFlags = {
  model: textFlag({ char: 'm', helpValue: 'ID', summary: "Model to use (default: the service's choice)" }),
  system: systemFlag,
  // Only a completion has these (docs/interface.md, "Chat completion request").
  temperature: numberFlag({ char: 't', helpValue: 'NUMBER', summary: 'Sampling temperature' }),
  'max-tokens': integerFlag({ helpValue: 'N', summary: 'Maximum number of tokens to generate' }),
  prompt: textFlag({ helpValue: 'NAME', summary: 'Prompt to use: see chat prompts' }),
  var: textListFlag({ helpValue: 'KEY=VALUE', summary: 'Value of a variable of the prompt' }),
  ...fileFlags,
}

interface PromptFlags {
  prompt?: string | undefined
  var?: readonly string[] | undefined
}

export interface MessageLine extends FileLine {
  flags: FileLine['flags'] &
    PromptFlags & {
      system?: string | undefined
      temperature?: number | undefined
      'max-tokens'?: number | undefined
    }
}

/**
 * The message of `chat send` or `chat complete`, and its parameters: the files of `--file`, and the text from the
 * argument, stdin, or both. With `--prompt`, they are the input of that prompt, over whose parameters the flags have
 * precedence.
 * @param mayBeEmpty whether the request has other messages; files need a text in any case
 * @throws Failure `usage` for an empty text, `refused` for files that cannot be sent; as `readSystem`, `openPrompt`
 */
export async function readMessage(
  line: MessageLine,
  context: Context,
  mayBeEmpty = false,
): Promise<FilledPrompt> {
  const { flags } = line
  const system = await readSystem(flags.system, context)
  const parts = await readParts(line, context)
  const name = mayBeEmpty && parts.files.length === 0 ? undefined : 'MESSAGE'
  const filled = (await openPrompt(name, flags, context)).fill(joinParts(parts, name, line))
  const { temperature, 'max-tokens': maxTokens } = flags
  return {
    ...filled,
    ...(system !== undefined && { system }),
    ...(temperature !== undefined && { temperature }),
    ...(maxTokens !== undefined && { maxTokens }),
  }
}

/** The message without the prompt. @throws Failure as `readMessage` */
export async function readMessageText(line: MessageLine, context: Context): Promise<string> {
  return joinParts(await readParts(line, context), 'MESSAGE', line)
}

/** @param name of the argument; undefined if the text may be empty, as it may with `--prompt` */
function joinParts(parts: MessageParts, name: string | undefined, { flags }: MessageLine): string {
  if (flags.prompt !== undefined || name === undefined) return joinFiles(parts)
  if (parts.files.length > 0 && parts.text.trim() === '') {
    throw new Failure('usage', `${name} is missing or empty`, { hint: 'Give it before -f, or on stdin.' })
  }
  return joinFiles({ ...parts, text: demandText(parts.text, name) })
}

async function readParts(line: MessageLine, context: Context): Promise<MessageParts> {
  const { argument, flags } = line
  if (flags.file === undefined) return { files: [], text: await readText(argument, context) }
  const { attachFiles } = await import('./attach-files.ts')
  const attached = await attachFiles(line, context)
  return { files: attached.files, text: await readText(attached.argument, context) }
}

/** A prompt, some of whose variables have no value yet. */
interface OpenPrompt {
  variables: readonly string[]
  /** @param values of these variables */
  fill(text: string, values?: ReadonlyMap<string, string>): FilledPrompt
}

/**
 * Opens the prompt that the flags select. Its model has precedence over a default, but not over `--model`. Without a
 * prompt, the text is the message.
 * @param argument name of the argument, for errors; undefined if the message may be empty
 * @throws Failure `not_found` for an unknown prompt; `refused` for an invalid one; `usage` for a variable that is
 *   missing or unknown, or if the message is empty
 */
export async function openPrompt(
  argument: string | undefined,
  flags: PromptFlags,
  { directories, options: { model, aliases } }: Context,
): Promise<OpenPrompt> {
  const { prompt: name } = flags
  const chosen = model.value === undefined ? {} : { model: model.value }
  const demand = (message: string) => (argument === undefined ? message : demandText(message, argument))
  if (name === undefined && flags.var) throw new Failure('usage', '--var requires --prompt')
  if (name === undefined) return { variables: [], fill: (text) => ({ message: demand(text), ...chosen }) }
  const values = readVariables(flags.var ?? [])
  const { fillPrompt } = await import('../../config/prompts/fill-prompt.ts')
  const { parsePrompt } = await import('../../config/prompts/prompt-file.ts')
  const { PromptLibrary } = await import('../../config/prompts/prompt-library.ts')
  const library = new PromptLibrary(directories)
  const prompt = parsePrompt(library.pathOf(name), library.read(name))
  const fill: OpenPrompt['fill'] = (text, more = new Map()) => {
    const filled = fillPrompt(prompt, {
      name,
      values: new Map([...more, ...values]),
      input: text,
      hintFor: (missing) => `Add: ${missing.map((variable) => `--var ${variable}=VALUE`).join(' ')}`,
    })
    demand(filled.message)
    if (isGiven(model) || filled.model === undefined) return { ...filled, ...chosen }
    return { ...filled, model: resolveAlias(filled.model, aliases.value) }
  }
  return { variables: prompt.variables.filter((variable) => !values.has(variable)), fill }
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

/**
 * The system message that `--system` gives. Undefined without the flag.
 * @throws Failure `refused` if a file or stdin cannot be read or is blank
 */
export async function readSystem(given: string | undefined, context: Context): Promise<string | undefined> {
  if (given === undefined) return undefined
  const text = await readTextValue(given, { what: 'the system message', maxBytes: maxTextBytes }, context)
  if (text.trim() !== '') return text
  const isStdin = given === '-' || given === '@-'
  throw new Failure('refused', `The system message in ${isStdin ? 'stdin' : given.slice(1)} is empty`)
}
