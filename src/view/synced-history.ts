import { countOf } from './count.ts'
import { textOf, type View, valueAt } from './view.ts'
import { wrapWords } from './wrap-words.ts'

/** The mirror after a sync. */
export const syncedHistoryView: View = {
  layout: 'records',
  isForTerminal: true,
  columns: [
    { path: 'messages' },
    { path: 'added' },
    { path: 'removed' },
    { path: 'as_of', time: true },
    { path: 'profile' },
    { path: 'base_url' },
    { path: 'user_id' },
    { path: 'file', whole: true },
  ],
  text: (body, width = Infinity) => {
    const count = (path: string) => Number(valueAt(body, path) ?? 0)
    const removed = count('removed') === 0 ? '' : `, ${countOf(count('removed'), 'message')} removed`
    const added = `${countOf(count('added'), 'new message')}${removed}`
    const mirrored = `The mirror has ${countOf(count('messages'), 'message')}, as of ${textOf(valueAt(body, 'as_of'))}.`
    return wrapWords(`${added}. ${mirrored}`, width)
  },
}
