import { Failure } from '../failure.ts'
import type { Context } from './create-context.ts'
import { readStdin, readTextFile } from './read-input.ts'

/**
 * A value from a YAML or JSON file, or from stdin for `-`. YAML reads JSON too.
 *
 * @throws Failure `refused` naming line and column
 */
export async function readDocument(path: string, context: Context): Promise<unknown> {
  const text =
    path === '-'
      ? await readStdin('a YAML or JSON document', context.output, context.signal)
      : readTextFile(path)
  // CommonJS: in the bundle only its default export can be taken apart.
  const { default: yaml } = await import('yaml')
  const document = yaml.parseDocument(text, { prettyErrors: true })
  const [error] = document.errors
  if (error) throw new Failure('refused', `${path}: ${error.message.split('\n')[0]}`, { cause: error })
  return document.toJS()
}
