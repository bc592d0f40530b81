import { Failure } from '../contract/failure.ts'
import { describeSystemError } from '../system/describe-system-error.ts'

/** What to say where the pages of an export cannot be kept. */
export function folderFailure(folder: string, cause: unknown): Failure {
  return new Failure('storage', `${folder} cannot be used: ${describeSystemError(cause)}`, {
    hint: 'The pages of an export are kept there until it is whole; XDG_STATE_HOME moves it.',
    cause,
  })
}
