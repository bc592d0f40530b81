import { textFlag } from '../flag-types.ts'

/** The authorization server and the way back from it; all of these a profile may hold too. */
export const redirectFlags = {
  'auth-url': textFlag({
    helpValue: '<url>',
    summary: '[env: CHATCTL_AUTH_URL] Address of the authorization server.',
  }),
  'client-id': textFlag({
    helpValue: '<id>',
    summary: '[env: CHATCTL_CLIENT_ID] What the authorization server knows this program by.',
  }),
  'token-url': textFlag({
    helpValue: '<url>',
    summary: "[env: CHATCTL_TOKEN_URL] Token endpoint, where the server's metadata does not name it.",
  }),
  scope: textFlag({
    helpValue: '<scope>',
    summary: '[env: CHATCTL_SCOPE] What to ask for, such as chat:write; sent exactly as it is.',
  }),
  'redirect-host': textFlag({
    helpValue: '<address>',
    summary: '[env: CHATCTL_REDIRECT_HOST] 127.0.0.1 or ::1, where the browser comes back to (127.0.0.1).',
  }),
  'redirect-port': textFlag({
    helpValue: '<port,…>',
    summary: '[env: CHATCTL_REDIRECT_PORT] Port that it comes back to; of several the first free one (any).',
  }),
  'redirect-path': textFlag({
    helpValue: '<path>',
    summary: '[env: CHATCTL_REDIRECT_PATH] Path that it comes back to (/callback).',
  }),
}
