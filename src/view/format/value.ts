import { textOf, type View } from './view.ts'

/** One value: as text, or as JSON. */
export const valueView: View = {
  layout: 'records',
  columns: [{ path: 'value' }],
  rows: (value) => [{ value }],
  text: (value) => textOf(value),
}

/** Any JSON document. The default output is JSON. */
export const documentView: View = {
  layout: 'pairs',
  columns: [],
  text: (body) => JSON.stringify(body, null, 2),
}
