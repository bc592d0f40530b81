import { textOf, type View } from './view.ts'

/** One value on its own: bare, or as a JSON value. */
export const valueView: View = {
  layout: 'records',
  columns: [{ path: 'value' }],
  rows: (value) => [{ value }],
  text: (value) => textOf(value),
}
