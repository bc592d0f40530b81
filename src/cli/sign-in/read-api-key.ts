import { bearer } from '../../contract/bearer.ts'
import { Failure } from '../../contract/failure.ts'
import { maxSecretBytes } from '../../system/read-named-file.ts'
import type { Context } from '../context.ts'
import { hasPipedStdin, readStdin } from '../input/read-input.ts'

const instead = 'stdin: chatctl auth login --with-api-key < key.txt'

/**
 * An API key from a pipe or a file on stdin, else from a hidden prompt.
 *
 * @throws Failure `input_needed` where there is none, `refused` for one that no request can carry
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
