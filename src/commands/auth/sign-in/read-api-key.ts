import type { Context } from '../../../cli/context/context.ts'
import { hasPipedStdin, readStdin } from '../../../cli/input/read-input.ts'
import { bearer } from '../../../contract/bearer.ts'
import { Failure } from '../../../contract/failure.ts'
import { maxSecretBytes } from '../../../system/files/read-named-file.ts'

const instead = 'stdin: chatctl auth login --with-api-key < key.txt'

/**
 * An API key from a pipe or a file on stdin, otherwise from a hidden prompt.
 *
 * @throws Failure `input_needed` if it is empty, `refused` if it is not valid in a header
 */
export async function readApiKey(context: Context): Promise<string> {
  const key = (await read(context)).trim()
  if (key === '') {
    throw new Failure('input_needed', 'The API key is missing or empty', { hint: `Pass it on ${instead}` })
  }
  bearer(key)
  return key
}

function read(context: Context): Promise<string> {
  if (hasPipedStdin(context)) return readStdin('the API key', context, maxSecretBytes)
  return context.prompter.askSecret('API key:', instead)
}
