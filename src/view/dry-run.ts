import { valueAt } from '../contract/notation/tree.ts'
import { showControls } from '../terminal/strip-controls.ts'
import { groupDigits } from './format/quantities.ts'
import { recordsView, type View } from './format/view.ts'

export const dryRunRequestView = recordsView('method url body:open', {
  json: { either: 'columns' },
  text: describeRequests,
})

/** The first requests of a run, with a heading. `total`: all requests of the run. */
export const firstRequestsView = (total: number): View => ({
  ...dryRunRequestView,
  text: (body) => {
    const { length } = body as unknown[]
    const which = length < total ? `first ${length} of ${groupDigits(total)} requests` : undefined
    return `\nThe ${which ?? (total === 1 ? 'request' : 'requests')}:\n\n${describeRequests(body)}`
  },
})

function describeRequests(body: unknown): string {
  return (Array.isArray(body) ? body : [body]).map(describeRequest).join('\n\n')
}

function describeRequest(request: unknown): string {
  const body = valueAt(request, 'body')
  const [file, row] = [valueAt(request, 'file'), valueAt(request, 'line')]
  const place = file === undefined ? `line ${row}` : `${file}:${row}`
  const ofRow = row === undefined ? '' : ` (${place})`
  const line = `${valueAt(request, 'method')} ${valueAt(request, 'url')}${ofRow}`
  const lines = body === undefined ? [] : JSON.stringify(body, null, 2).split('\n')
  return [line, ...lines].map(showControls).join('\n')
}

/** A request that a run will send. */
export interface PlannedRequest {
  /** The file of its row, if there may be several. */
  file?: string | undefined
  /** The line of its row. */
  line: number | undefined
  method: string
  /** Contains `{id}` if no response with the ID of the user is known. */
  path: string
  body: object
  /** Whether a password will be generated. It is not in `body`. */
  generatesPassword?: boolean
}

/** A change to this machine that a dry run did not make. */
export const dryRunChangeView: View = { layout: 'pairs', json: 'any', columns: [] }
