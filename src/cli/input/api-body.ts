import { Failure } from '../../contract/failure.ts'
import type { Context } from '../create-context.ts'
import { parseKeyValues } from './key-values.ts'
import { readStdin, readTextFile } from './read-input.ts'

/**
 * The body of `chatctl api`, checked to be JSON before it is sent as it stands.
 *
 * @throws Failure `refused` for a text that is not JSON
 */
export async function readRequestBody(
  source: { data: string | undefined; fields: readonly string[] | undefined },
  context: Context,
): Promise<string | undefined> {
  if (source.fields) return JSON.stringify(parseKeyValues(source.fields, '--field'))
  if (source.data === undefined) return undefined
  const text = await readData(source.data, context)
  try {
    JSON.parse(text)
  } catch (cause) {
    throw new Failure('refused', `The body is not JSON: ${(cause as Error).message}`, { cause })
  }
  return text
}

function readData(data: string, context: Context): Promise<string> | string {
  if (data === '-') return readStdin('a JSON body', context)
  return data.startsWith('@') ? readTextFile(data.slice(1), context) : data
}
