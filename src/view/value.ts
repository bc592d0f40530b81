import { textOf, type View } from './view.ts'

/** One value on its own: bare, or as a JSON value. */
export const valueView: View = {
  layout: 'records',
  columns: [{ path: 'value' }],
  rows: (value) => [{ value }],
  text: (value) => textOf(value),
}

/** A value that has no table of its own: JSON unless another form is asked for. */
export const documentView: View = {
  layout: 'pairs',
  columns: [],
  text: (body) => JSON.stringify(body, null, 2),
}
