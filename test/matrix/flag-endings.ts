import type { Flagged } from './flag-values.ts'
import type { Form } from './forms.ts'

/** The exit codes that a command with one more flag may have. */
export function expectedCodes({ kind, fine }: Flagged, form: Form): readonly number[] {
  return kind === 'valid' ? [fine[form]] : [2]
}
