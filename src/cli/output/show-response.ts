import type { ApiResponse } from '../../client/response/response.ts'
import { isRecord } from '../../contract/notation/exact-json.ts'
import { valueAt } from '../../contract/notation/tree.ts'
import { userIn } from '../../contract/resources/user.ts'
import { hideSecrets } from '../../contract/secret-fields.ts'
import { visibleJson } from '../../terminal/strip-controls.ts'
import { contradictionOf } from '../../view/failure-details.ts'
import type { View } from '../../view/format/view.ts'
import { commandFor } from '../command-line.ts'
import type { Context } from '../context/context.ts'
import type { OneTimeSecret } from './output.ts'

/** A change that the service has confirmed by its status. */
export interface Changed {
  /** What was done, a sentence without its period: "Updated user u1". */
  done: string
  /** What a service may send back, as the sentence names it: "the user". */
  resource: string
  /** Of what was changed, where it is known from the request or from the Location header. */
  id?: string | undefined
  /** The values that were sent, in the fields of the response, without a secret. */
  sent: object
  /** What chatctl adds to the response, which nothing will show again. */
  secret?: OneTimeSecret | undefined
}

/**
 * Shows the response to a change, whose body the interface does not show (docs/interface.md, "Endpoints",
 * rule 3). JSON and YAML are that body, with the known ID. Columns show the values that were sent where the body has
 * none.
 * @throws Failure `conflict` after that if the response has other values than those that were sent
 */
export async function showChanged(
  view: View,
  answer: ApiResponse<unknown>,
  { done, resource, id, sent, secret }: Changed,
  context: Context,
): Promise<void> {
  const { output } = context
  const shown = output.isDocument ? answer.body : userIn(answer.body)
  const received = isRecord(shown) ? shown : {}
  if (received !== shown && shown !== undefined)
    answer.warning ??= 'The response is not a JSON object, so it is not shown'
  const isShown = !isUndocumented(view, { ...received, id: undefined })
  const absent = Object.entries(sent).filter(([name, value]) => hasValue(value) && !hasValue(received[name]))
  const isUser = id !== undefined && resource === 'the user'
  const hint = isUser ? `Check the user with: ${commandFor(context, 'users', 'get', id)}` : undefined
  const failure = contradictionOf(sent, answer, hint)
  const isFilled = absent.length > 0 && !output.isDocument && !failure
  const fields = isFilled ? { ...(isShown && received), ...Object.fromEntries(absent) } : received
  const lacksId = id !== undefined && !hasValue(fields['id'])
  const identified = lacksId ? Object.assign({ id }, fields, { id }) : fields
  const body = secret === undefined ? identified : { ...identified, [secret.name]: secret.value }
  await context.show(view, { ...answer, body }, secret)
  if (failure) throw failure
  if (isShown && !isFilled) return
  const missing = isShown ? absent.map(([name]) => name).join(', ') : resource
  const words = `${done}. The service did not return ${missing}`
  if (!isFilled) return output.notice(`${words}.`)
  const isExplained = isShown || Object.keys(received).length === 0
  const rest = isExplained ? '' : ` The response is ${excerptOf(received)}.`
  output.notice(`${words}, so the values that were sent are shown.${rest}`)
}

/** Whether a body has a value in none of the columns of a view. */
export function isUndocumented({ columns }: View, body: unknown): boolean {
  return !columns.some(({ path }) => hasValue(valueAt(body, path)))
}

/** Whether a column with the value is not blank. */
function hasValue(value: unknown): boolean {
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
