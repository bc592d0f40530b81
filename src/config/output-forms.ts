export const outputForms = ['table', 'json', 'jsonl', 'yaml', 'csv', 'tsv'] as const
export type OutputForm = (typeof outputForms)[number]

/** What a command that writes a document may offer as `--output`, in place of `outputForms`. */
export type DocumentForm = 'text' | 'md' | 'html' | 'json' | 'jsonl'

/** @param documentForms those of a command that writes a document */
export function readOutputForm(
  text: string,
  documentForms?: readonly DocumentForm[],
): OutputForm | DocumentForm {
  const forms = documentForms ?? outputForms
  const form = forms.find((known) => known === text)
  if (!form) throw new Error(`is not one of ${forms.join(', ')}`)
  return form
}

/** What was given, unless it is a default that is about rows, which says nothing about a document. */
export function offeredForm<G extends { value: string; source: string }>(
  given: G | undefined,
  documentForms: readonly string[] | undefined,
): G | undefined {
  const isAside = documentForms && given && given.source !== 'flag' && !documentForms.includes(given.value)
  return isAside ? undefined : given
}
