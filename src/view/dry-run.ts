import { type View, valueAt } from './view.ts'

/** A request that was held back, or a list of them. */
export const heldRequestView: View = {
  layout: 'records',
  columns: [{ path: 'method' }, { path: 'url' }, { path: 'body', open: true }],
  text: (held) => (Array.isArray(held) ? held : [held]).map(describeRequest).join('\n\n'),
}

function describeRequest(request: unknown): string {
  const body = valueAt(request, 'body')
  const line = `${valueAt(request, 'method')} ${valueAt(request, 'url')}`
  return body === undefined ? line : `${line}\n${JSON.stringify(body, null, 2)}`
}

/** A change of this machine that was held back. */
export const localChangeView: View = { layout: 'pairs', columns: [] }
