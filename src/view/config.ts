import { type View, valueAt } from './format/view.ts'

/** Used by `config set` and `config unset`. */
export const configValueView: View = {
  layout: 'records',
  columns: [{ path: 'profile' }, { path: 'key' }, { path: 'value' }],
}

/** The default profile. */
export const defaultProfileView: View = {
  ...configValueView,
  isForTerminal: true,
  text: (body) => `${String(valueAt(body, 'value'))} is now the default profile.`,
}

export const configListView: View = {
  layout: 'records',
  columns: [{ path: 'key' }, { path: 'value' }, { path: 'source' }, { path: 'from' }],
}

/** A new key, or the file to which it was written. */
export const sealKeyView: View = {
  layout: 'records',
  columns: [{ path: 'key' }, { path: 'path' }],
  text: (body) => String(valueAt(body, 'key') ?? valueAt(body, 'path')),
}

/** The path of a file. Used by `config path` and `plan approve`. */
export const pathView: View = {
  layout: 'records',
  columns: [{ path: 'path' }],
  text: (body) => String(valueAt(body, 'path')),
}
