import { type View, valueAt } from './format/view.ts'

/** A request of a dry run, or a list of them. */
export const dryRunRequestView: View = {
  layout: 'records',
  json: { either: 'columns' },
  columns: [{ path: 'method' }, { path: 'url' }, { path: 'body', open: true }],
  text: (body) => (Array.isArray(body) ? body : [body]).map(describeRequest).join('\n\n'),
}

function describeRequest(request: unknown): string {
  const body = valueAt(request, 'body')
  const [file, row] = [valueAt(request, 'file'), valueAt(request, 'line')]
  const place = file === undefined ? `line ${row}` : `${file}:${row}`
  const ofRow = row === undefined ? '' : ` (${place})`
  const line = `${valueAt(request, 'method')} ${valueAt(request, 'url')}${ofRow}`
  return body === undefined ? line : `${line}\n${JSON.stringify(body, null, 2)}`
}

/** A change to this machine that a dry run did not make. */
export const dryRunChangeView: View = { layout: 'pairs', json: 'any', columns: [] }
