import { Failure } from '../../contract/failure.ts'
import { describeSystemError } from '../../system/describe-system-error.ts'
import type { Context } from '../context/context.ts'
import { describeFailure } from '../errors/describe-failure.ts'
import { sentences } from '../errors/hints.ts'
import { savePrivateFile } from '../save-private-file.ts'

interface EditedDocument {
  /** The beginning of the file name. */
  name: string
  extension: string
  /** The command line that uses the saved file. */
  useWith(path: string): string
}

/**
 * Saves an edited text after a failure, so that it can be used later.
 *
 * @returns the same error, with a hint that names the file
 */
export function keepEdit(text: string, error: unknown, context: Context, document: EditedDocument): unknown {
  const words = keep(text, context, document)
  if (!(error instanceof Failure)) {
    context.output.notice(words)
    return error
  }
  const { hint } = describeFailure(error, context.connection())
  return error.reworded(error.message, { hint: hint === undefined ? words : sentences([hint, words]) })
}

function keep(text: string, context: Context, { name, extension, useWith }: EditedDocument): string {
  try {
    const path = savePrivateFile(context, 'edits', name, extension, text)
    return `The edited text is saved. Apply it with: ${useWith(path)}`
  } catch (error) {
    return `The edited text could not be saved: ${describeSystemError(error)}`
  }
}
