import type { ApiResponse } from '../../client/response/response.ts'
import { hideSecrets } from '../../contract/secret-fields.ts'
import { visibleJson } from '../../terminal/strip-controls.ts'
import { type View, valueAt } from '../../view/format/view.ts'
import type { Context } from '../context/context.ts'

/** Whether a body has a value in none of the columns of a view. */
export function isUndocumented({ columns }: View, body: unknown): boolean {
  return !columns.some(({ path }) => hasValue(valueAt(body, path)))
}

/** Whether a column with the value is not blank. */
export function hasValue(value: unknown): boolean {
  return (value ?? '') !== ''
}

/** Shows the columns of the view or, if the body has none of them, all of its fields. */
export async function showDocumentedOrAll(
  view: View,
  response: ApiResponse<unknown>,
  context: Context,
): Promise<void> {
  if (!isUndocumented(view, response.body)) return context.show(view, response)
  await context.output.warn('The response has none of the documented fields, so it is shown as it is')
  await context.show({ ...view, layout: 'pairs' }, response)
}

/** Maximum number of characters. */
const maxLength = 500

/** The beginning of a body, on one line and without secrets. */
export function excerptOf(body: unknown): string {
  const text = visibleJson(hideSecrets(body))
  return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text
}
