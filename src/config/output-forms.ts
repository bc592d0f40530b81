export const outputForms = ['table', 'json', 'jsonl', 'yaml', 'csv', 'tsv'] as const
export type OutputForm = (typeof outputForms)[number]

/** What a command that writes a document may offer as `--output`, in place of `outputForms`. */
export type DocumentForm = 'text' | 'md' | 'html' | 'json' | 'jsonl'

/** @param forms those that the command offers */
export function readOutputForm<F extends OutputForm | DocumentForm>(text: string, forms: readonly F[]): F {
  const form = forms.find((known) => known === text)
  if (!form) throw new Error(`is not one of ${forms.join(', ')}`)
  return form
}

/**
 * What was given, unless it is a default for rows, which says nothing about a document. A default that no
 * command offers is an error for every command.
 */
export function offeredForm<G extends { value: string; source: string }>(
  given: G | undefined,
  documentForms: readonly string[] | undefined,
): G | undefined {
  const isAside =
    documentForms &&
    given &&
    given.source !== 'flag' &&
    !documentForms.includes(given.value) &&
    outputForms.some((form) => form === given.value)
  return isAside ? undefined : given
}

/** The forms that a value may name: a flag is about this command, a default may be about any command. */
export function formsFrom(
  source: string | undefined,
  documentForms: readonly DocumentForm[] | undefined,
): readonly (OutputForm | DocumentForm)[] {
  if (documentForms === undefined) return outputForms
  return source === 'flag' ? documentForms : [...new Set([...outputForms, ...documentForms])]
}
