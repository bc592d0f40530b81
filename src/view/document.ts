import type { View } from './view.ts'

/** A value that has no table of its own: JSON unless another form is asked for. */
export const documentView: View = {
  layout: 'pairs',
  columns: [],
  text: (body) => JSON.stringify(body, null, 2),
}
