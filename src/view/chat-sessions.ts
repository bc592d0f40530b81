import type { View } from './view.ts'

/** A session of this machine. */
export const chatSessionsView: View = {
  layout: 'records',
  columns: [
    { path: 'id', whole: true },
    { path: 'updated_at', time: true },
    { path: 'turns' },
    { path: 'model', secondary: true },
    { path: 'context_id', secondary: true },
    { path: 'name' },
    { path: 'first_message' },
    { path: 'profile', secondary: true },
    { path: 'mode', hidden: true },
    { path: 'base_url', hidden: true },
    { path: 'at', hidden: true },
  ],
}
