import type { ApiResponse } from '../../client/response.ts'
import { isRecord } from '../../contract/exact-json.ts'
import type { SentDifference } from '../../plan/plan.ts'
import { describeChange, sentView } from '../../view/settings-plan.ts'
import { type View, valueAt } from '../../view/view.ts'
import type { Context } from '../context.ts'
import type { OneTimeSecret } from './output.ts'

/** A change that the service has confirmed by its status. */
export interface Changed {
  /** What was done, a sentence without its period: "Updated user u1". */
  done: string
  /** What a service may send back, as the sentence names it: "the user". */
  resource: string
  /** Of what was changed, where it is known from the request or from the Location header. */
  id?: string | undefined
  /** What chatctl adds to the response, which nothing will show again. */
  secret?: OneTimeSecret | undefined
}

/**
 * Shows the response to a change, whose body the interface leaves open (docs/interface.md, "Endpoints",
 * rule 3): with the id where the body lacks it, and with words where it shows nothing of the resource.
 */
export async function showChanged(
  view: View,
  answer: ApiResponse<unknown>,
  { done, resource, id, secret }: Changed,
  context: Context,
): Promise<void> {
  const sent = isRecord(answer.body) ? answer.body : {}
  if (sent !== answer.body && answer.body !== undefined)
    answer.warning ??= 'the response is not a JSON object, so it is not shown'
  const known = id !== undefined && (sent['id'] ?? '') === '' ? Object.assign({ id }, sent, { id }) : sent
  const body = secret === undefined ? known : { ...known, [secret.name]: secret.value }
  await context.show(view, { ...answer, body }, secret)
  const isShown = view.columns.some(({ path }) => path !== 'id' && (valueAt(sent, path) ?? '') !== '')
  if (!isShown) context.output.notice(`${done}. The service did not return ${resource}.`)
}

/** Says what an API configuration changes against what was last sent from here, since nobody can read it. */
export async function showSentDifference(difference: SentDifference, { output }: Context): Promise<void> {
  const { sentAt, changes, left } = difference
  if (output.isJson || changes.length === 0) {
    const words = changes.map(describeChange).join('; ') || 'no differences'
    output.notice(`Compared with the configuration last sent from this machine (${sentAt}): ${words}`)
  } else await output.showAside(sentView(sentAt), difference, false)
  if (left.length > 0) output.notice(`Sent then, but not this time: ${left.join(', ')}`)
}
