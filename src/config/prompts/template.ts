import type { TextFault } from '../../contract/locate-yaml.ts'

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
