import { valueAt } from '../contract/notation/tree.ts'
import { listView, recordsView, type View } from './format/view.ts'

/** Used by `config set` and `config unset`. */
export const configValueView = recordsView('profile key value:any')

export const defaultProfileView: View = {
  ...configValueView,
  isForTerminal: true,
  text: (body) => `${String(valueAt(body, 'value'))} is now the default profile.`,
}

export const configListView = listView('key value:any source from')

/** A new key, or the file to which it was written. */
export const sealKeyView = recordsView('key path', {
  text: (body) => String(valueAt(body, 'key') ?? valueAt(body, 'path')),
})

/** The path of a file. Used by `config path`. */
export const pathView = recordsView('path', { text: (body) => String(valueAt(body, 'path')) })
