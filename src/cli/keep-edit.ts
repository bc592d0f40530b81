import { Failure } from '../contract/failure.ts'
import { describeSystemError } from '../system/describe-system-error.ts'
import { commandFor } from './command-for.ts'
import type { Context } from './create-context.ts'
import { hintOf } from './hints.ts'
import { keepFile } from './keep-file.ts'

/**
 * Keeps what was edited where it came to nothing, and says how to go on with it.
 *
 * @returns the error to be thrown: the same, with where the text is
 */
export function keepEdit(text: string, error: unknown, context: Context): unknown {
  const words = keep(text, context)
  if (!(error instanceof Failure)) {
    context.output.notice(words)
    return error
  }
  const hint = hintOf(error) ?? (error.status === 401 ? context.refusalHint() : undefined)
  return error.reworded(error.message, { hint: [hint, words].filter(Boolean).join(' ') })
}

function keep(text: string, context: Context): string {
  try {
    const path = keepFile(context.directories, 'edits', 'settings', 'yaml', text)
    return `What you edited is kept: ${commandFor(context, 'settings', 'apply', path)}`
  } catch (error) {
    return `What you edited could not be kept: ${describeSystemError(error)}`
  }
}
