import { Failure } from '../../contract/failure.ts'
import { nearest } from '../../contract/nearest-word.ts'
import { locateYaml, type TextFault, UnreadableFile } from '../../contract/notation/locate-yaml.ts'
import { type LocatedEntry, placesIn } from '../../contract/notation/located.ts'
import { joinLines } from '../../contract/notation/text.ts'

/** The variable for the text that a person adds to a prompt. Only the body may contain it. */
export const inputVariable = 'input'

/** A prompt file: optional YAML front matter between two lines with `---`, and a body with variables. */
export interface Prompt {
  model?: string
  temperature?: number
  maxTokens?: number
  system: Template
  body: Template
  /** The names of the variables, without `input`. */
  variables: readonly string[]
  /** The first line of the body, or of the system message if there is no body. */
  description: string
}

const keys = ['model', 'temperature', 'max_tokens', 'system'] as const

/**
 * Reads the text of a prompt file.
 * @param name of the file, for errors
 * @throws Failure `refused` with the line and column of every fault, or if the file is empty
 */
export function parsePrompt(name: string, text: string): Prompt {
  const faults: TextFault[] = []
  const { matter, body: bodyText, at } = splitFrontMatter(text, faults)
  const given = readFrontMatter(matter, faults)
  const body = readTemplate(bodyText, at, faults)
  if (faults.length > 0) throw faultyFile(name, text, faults)
  const { system = [], ...parameters } = given
  if (body.length === 0 && system.length === 0 && Object.keys(parameters).length === 0) {
    throw new Failure('refused', `${name} contains no prompt`)
  }
  const variables = new Set([...variablesOf(body), ...variablesOf(system)])
  variables.delete(inputVariable)
  const description = firstLineOf(bodyText) || firstLineOf(describeTemplate(system))
  return { ...parameters, system, body, variables: [...variables], description }
}

const fence = /^---[ \t]*(?:\r?\n|$)/

/** The front matter includes its first line, which YAML allows, so that offsets in it are offsets in the file. */
function splitFrontMatter(text: string, faults: TextFault[]): { matter: string; body: string; at: number } {
  const whole = { matter: '', body: text, at: 0 }
  if (!fence.test(text)) return trimBody(whole)
  for (let at = text.indexOf('\n') + 1; at > 0; at = text.indexOf('\n', at) + 1) {
    const [closing] = fence.exec(text.slice(at)) ?? []
    if (closing === undefined) continue
    const end = at + closing.length
    return trimBody({ matter: text.slice(0, at), body: text.slice(end), at: end })
  }
  faults.push({ at: 0, words: 'the front matter has no end: add a line with ---' })
  return { ...whole, body: '' }
}

/** Removes blank lines at the beginning and at the end of the body. */
function trimBody<T extends { body: string; at: number }>(split: T): T {
  const [blank = ''] = /^(?:[ \t]*\r?\n)*/.exec(split.body) ?? []
  const body = split.body.slice(blank.length).trimEnd()
  return { ...split, body, at: split.at + blank.length }
}

type Parameters = Pick<Prompt, 'model' | 'temperature' | 'maxTokens'> & { system?: Template }

function readFrontMatter(matter: string, faults: TextFault[]): Parameters {
  const parameters: Parameters = {}
  for (const { key, keyAt, value } of entriesOf(matter, faults)) {
    const fault = (words: string, at = value.at) => faults.push({ at, words: `${key} ${words}` })
    const known = keys.find((one) => one === key)
    if (known === undefined) {
      const meant = nearest(key, keys)
      fault(
        `is an unknown key${meant ? `; did you mean ${meant}?` : `; known keys: ${keys.join(', ')}`}`,
        keyAt,
      )
      continue
    }
    const given = value.kind === 'scalar' ? value.value : undefined
    if (given === null) fault('has no value')
    else if (known === 'temperature') {
      if (typeof given === 'number' && Number.isFinite(given)) parameters.temperature = given
      else fault(`must be a number${quoted(given)}`)
    } else if (known === 'max_tokens') {
      if (typeof given === 'number' && Number.isSafeInteger(given)) parameters.maxTokens = given
      else fault(`must be an integer${quoted(given)}`)
    } else if (typeof given !== 'string') fault('must be a string: put it in quotes')
    else if (given.trim() === '') fault('must not be empty')
    else if (known === 'model') parameters.model = given
    else parameters.system = readSystem(given, value.at, faults)
  }
  return parameters
}

function quoted(value: unknown): string {
  return typeof value === 'string' && /^[-+.\d]+$/.test(value) ? ': remove the quotes' : ''
}

function entriesOf(matter: string, faults: TextFault[]): readonly LocatedEntry[] {
  try {
    const root = locateYaml(matter)
    if (root.kind === 'map') return root.entries
    // Empty, or only comments.
    if (root.kind === 'scalar' && root.value === null) return []
    faults.push({ at: root.at, words: 'the front matter must consist of keys and values, such as model: ID' })
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error
    const help = /:[ \t]*\{\{/.test(matter) ? '; put a value that begins with {{ in quotes' : ''
    faults.push(...error.faults.map(({ at, words }) => ({ at, words: words + help })))
  }
  return []
}

/** A template has no places in a YAML string, whose source may contain escapes. */
function readSystem(text: string, at: number, faults: TextFault[]): Template {
  const { template, faults: found } = parseTemplate(text)
  faults.push(...found.map(({ words }) => ({ at, words: `system: ${words}` })))
  if (variablesOf(template).includes(inputVariable))
    faults.push({ at, words: `system cannot contain {{${inputVariable}}}, which is the message` })
  return template
}

function readTemplate(text: string, at: number, faults: TextFault[]): Template {
  const { template, faults: found } = parseTemplate(text)
  faults.push(...found.map((fault) => ({ ...fault, at: at + fault.at })))
  return template
}

function describeTemplate(template: Template): string {
  return fillTemplate(template, new Map(variablesOf(template).map((name) => [name, `{{${name}}}`])))
}

function firstLineOf(text: string): string {
  return /^[#\s]*(.*)/.exec(text)?.[1]?.trim() ?? ''
}

function faultyFile(name: string, text: string, faults: readonly TextFault[]): Failure {
  const placeOf = placesIn(text)
  const located = faults
    .toSorted((one, other) => one.at - other.at)
    .map(({ at, words }) => ({ file: name, ...placeOf(at), message: words }))
  const lines = located.map(({ line, column, message }) => `${name}:${line}:${column}: ${message}`)
  const message = lines.length === 1 ? joinLines(lines) : `${lines.length} errors:\n${joinLines(lines)}`
  return new Failure('refused', message, { details: { faults: located } })
}

/**
 * A text with variables, such as `Translate this to {{language}}.` White space inside the braces is ignored.
 * `\{{` is a literal `{{`. Directly before `{{`, `\\` is a literal backslash. Any other `{{` is a fault, because
 * a misspelled variable must not reach a model as text.
 */
export type Template = readonly (string | { variable: string })[]

/** The last two braces of a run belong to the variable: `{{{name}}}` is a variable in braces. */
const token =
  /(?<!\\)((?:\\\\)*)(?:\\(?<escaped>\{\{)|(?<braces>\{*)\{\{(?:[ \t]*(?<name>[A-Za-z_][\w-]*)[ \t]*\}\})?)/g

/** @returns the template without its faulty variables, and the faults */
export function parseTemplate(text: string): { template: Template; faults: TextFault[] } {
  const template: (string | { variable: string })[] = []
  const faults: TextFault[] = []
  let literal = ''
  let end = 0
  for (const match of text.matchAll(token)) {
    const { 0: whole, 1: backslashes = '', index, groups = {} } = match
    const { escaped = '', braces = '', name } = groups
    literal += text.slice(end, index) + backslashes.slice(backslashes.length / 2) + escaped + braces
    end = index + whole.length
    if (name !== undefined) {
      if (literal !== '') template.push(literal)
      template.push({ variable: name })
      literal = ''
    } else if (escaped === '') {
      const [shown] = /^.{0,30}?(?:\}\}|$)|^.{0,30}/m.exec(text.slice(end)) ?? ['']
      const words = `{{${shown} is not a variable such as {{language}}; write \\{{ for a literal {{`
      faults.push({ at: end - 2, words })
    }
  }
  literal += text.slice(end)
  if (literal !== '') template.push(literal)
  return { template, faults }
}

/** The names of the variables, each once, in the order of their first use. */
export function variablesOf(template: Template): string[] {
  return [...new Set(template.flatMap((part) => (typeof part === 'string' ? [] : [part.variable])))]
}

/** @param values of all variables; they are not templates themselves */
export function fillTemplate(template: Template, values: ReadonlyMap<string, string>): string {
  return template.map((part) => (typeof part === 'string' ? part : values.get(part.variable))).join('')
}
