import type { View } from './view.ts'

export const settingsView: View = {
  layout: 'pairs',
  columns: [
    { path: 'app_name' },
    { path: 'theme.primary_color' },
    { path: 'theme.mode' },
    { path: 'features.chat' },
    { path: 'features.file_upload' },
    { path: 'features.code_completion' },
    { path: 'limits.max_tokens' },
    { path: 'limits.max_requests_per_min' },
  ],
}

export const preferencesView: View = {
  layout: 'pairs',
  columns: [
    { path: 'language' },
    { path: 'timezone' },
    { path: 'notifications.email' },
    { path: 'notifications.push' },
    { path: 'display.theme' },
    { path: 'display.font_size' },
  ],
}

export const apiConfigurationView: View = {
  layout: 'pairs',
  columns: [
    { path: 'version' },
    { path: 'rate_limiting.enabled' },
    { path: 'rate_limiting.requests_per_minute' },
    { path: 'cors.allowed_origins' },
    { path: 'cors.allowed_methods' },
  ],
}
