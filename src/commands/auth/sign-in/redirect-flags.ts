import { textFlag } from '../../../cli/flags/flag-types.ts'

/** The authorization server and the way back from it; all of these a profile may hold too. */
export const redirectFlags = {
  'auth-url': textFlag({
    helpValue: 'URL',
    summary: 'Authorization server',
  }),
  'client-id': textFlag({
    helpValue: 'ID',
    summary: 'OAuth client ID',
  }),
  'token-url': textFlag({
    helpValue: 'URL',
    summary: "Token endpoint (default: from the server's metadata)",
  }),
  scope: textFlag({
    helpValue: 'SCOPE',
    summary: 'OAuth scope to request, such as chat:write',
  }),
  'redirect-host': textFlag({
    helpValue: 'ADDRESS',
    summary: 'Loopback address of the redirect URI: 127.0.0.1 or ::1 (default: 127.0.0.1)',
  }),
  'redirect-port': textFlag({
    helpValue: 'PORT',
    summary: 'Port of the redirect URI, or comma-separated ports to try in order (default: any free port)',
  }),
  'redirect-path': textFlag({
    helpValue: 'PATH',
    summary: 'Path of the redirect URI (default: /callback)',
  }),
}
