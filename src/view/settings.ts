import { plain, type View } from './format/view.ts'

export const settingsView: View = {
  layout: 'pairs',
  columns: [
    ...plain('app_name', 'theme.primary_color', 'theme.mode', 'features.chat', 'features.file_upload'),
    ...plain('features.code_completion', 'limits.max_tokens', 'limits.max_requests_per_min'),
  ],
}

export const preferencesView: View = {
  layout: 'pairs',
  columns: [
    ...plain('language', 'timezone', 'notifications.email', 'notifications.push', 'display.theme'),
    { path: 'display.font_size' },
  ],
}

export const apiConfigurationView: View = {
  layout: 'pairs',
  columns: [
    ...plain('version', 'rate_limiting.enabled', 'rate_limiting.requests_per_minute', 'cors.allowed_origins'),
    { path: 'cors.allowed_methods' },
  ],
}
