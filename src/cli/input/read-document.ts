import { Failure } from '../../contract/failure.ts'
import { parseJson } from '../../contract/notation/exact-json.ts'
import { yamlReading } from '../../contract/notation/yaml-scalars.ts'
import type { Context } from '../context/context.ts'
import { readStdin, readTextFile } from './read-input.ts'

/** A document and what to call it in errors. */
export interface Document {
  value: unknown
  name: string
}

/**
 * A value from a YAML or JSON file, or from stdin for `-`. YAML reads JSON too, but what is wrong
 * with JSON only a JSON parser says well.
 *
 * @throws Failure `refused` naming line and column
 */
export async function readDocument(path: string, context: Context, maxBytes: number): Promise<Document> {
  if (path !== '-') return parseDocument(path, readTextFile(path, context, maxBytes))
  const text = await readStdin('a YAML or JSON document', context, maxBytes)
  return parseDocument('stdin', text)
}

/** @param name of the text, for errors; one that ends in .json is read as JSON alone */
export async function parseDocument(name: string, text: string): Promise<Document> {
  try {
    return { value: name.endsWith('.json') ? parseJson(text) : await parseYaml(text), name }
  } catch (cause) {
    const [words = ''] = (cause as Error).message.split('\n')
    throw new Failure('refused', `${name}: ${words.replace(/:$/, '')}`, { cause })
  }
}

async function parseYaml(text: string): Promise<unknown> {
  // CommonJS: in the bundle only its default export can be taken apart.
  const { default: yaml } = await import('yaml')
  const document = yaml.parseDocument(text, { ...yamlReading, prettyErrors: true })
  const [problem] = [...document.errors, ...document.warnings]
  if (problem) throw problem
  return document.toJS()
}
