import { Failure } from '../../contract/failure.ts'
import { nearest } from '../../contract/nearest-word.ts'
import type { View } from '../../view/format/view.ts'

export function unknownField(view: View, field: string): Failure {
  const known = view.columns.map(({ path }) => path)
  const meant = nearest(field, known)
  return new Failure('usage', `Unknown field "${field}"`, {
    hint: meant ? `Did you mean ${meant}? Known: ${known.join(', ')}` : `Known: ${known.join(', ')}`,
  })
}

/** A view without documented columns is no reason to blame the command line. */
export function absentField(view: View, field: string): Failure {
  if (view.columns.length > 0) return unknownField(view, field)
  return new Failure('invalid_response', `The response has no field "${field}"`)
}
