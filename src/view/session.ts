import type { View } from './view.ts'

/** A session of this machine. */
export const sessionsView: View = {
  layout: 'records',
  columns: [
    { path: 'id' },
    { path: 'updated_at' },
    { path: 'turns' },
    { path: 'model' },
    { path: 'context_id' },
    { path: 'name' },
    { path: 'first_message' },
    { path: 'profile' },
    { path: 'base_url', hidden: true },
    { path: 'at', hidden: true },
  ],
}
