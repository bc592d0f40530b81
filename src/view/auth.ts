import type { View } from './view.ts'

export const authStatusView: View = {
  layout: 'pairs',
  columns: [
    { path: 'profile' },
    { path: 'base_url' },
    { path: 'service' },
    { path: 'credential' },
    { path: 'verified' },
    { path: 'user.id' },
    { path: 'user.email' },
    { path: 'user.name' },
  ],
}
