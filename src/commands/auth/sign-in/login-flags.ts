import * as Flags from '@oclif/core/flags'
import type { Context } from '../../../cli/context/context.ts'
import { durationFlag, textFlag } from '../../../cli/flags/flag-types.ts'
import { dryRunFlag } from '../../../cli/flags/shared-flags.ts'
import { signInKeys } from '../../../config/configuration-file.ts'

const redirectKeys = ['redirect_host', 'redirect_port', 'redirect_path'] as const

/** The flags of a sign-in that redirects a browser to this machine. */
const redirectWays = ['browser', 'pkce', ...redirectKeys.map((key) => key.replace('_', '-'))]

/** The authorization server and the way back from it; all of these a profile may hold too. */
const redirectFlags = {
  'auth-url': textFlag({ helpValue: 'URL', summary: 'Authorization server' }),
  'client-id': textFlag({ helpValue: 'ID', summary: 'OAuth client ID' }),
  'token-url': textFlag({
    helpValue: 'URL',
    summary: "Token endpoint (default: from the server's metadata)",
  }),
  scope: textFlag({ helpValue: 'SCOPE', summary: 'OAuth scope to request, such as chat:write' }),
  'redirect-host': textFlag({
    helpValue: 'ADDRESS',
    summary: 'Loopback address of the redirect URI: 127.0.0.1 or ::1 (default: 127.0.0.1)',
  }),
  'redirect-port': textFlag({
    helpValue: 'PORT',
    summary: 'Port of the redirect URI, or comma-separated ports to try in order (default: any free port)',
  }),
  'redirect-path': textFlag({ helpValue: 'PATH', summary: 'Path of the redirect URI (default: /callback)' }),
}

const signInFlags = {
  'with-api-key': Flags.boolean({
    summary: 'Sign in with an API key from stdin or a hidden prompt',
    exclusive: ['web', 'wait', ...redirectWays],
  }),
  'credential-command': textFlag({
    helpValue: 'CMD',
    summary: 'Store a command that prints the API key or token',
    exclusive: [
      ...['with-api-key', 'web', 'device', 'wait', 'ci', 'insecure-storage', ...redirectWays],
      ...['auth-url', 'client-id', 'token-url', 'scope'],
    ],
  }),
  ci: Flags.boolean({
    summary: 'Sign in with the identity token of a CI job (chatctl help environment)',
    exclusive: ['with-api-key', 'web', 'device', 'wait', ...redirectWays],
  }),
  web: Flags.boolean({ summary: 'Sign in with a browser (OAuth); skips the prompt for the method' }),
  device: Flags.boolean({
    summary: 'Sign in with a code that you enter in a browser on any device (OAuth)',
    exclusive: ['with-api-key', 'web', ...redirectWays],
  }),
  qr: Flags.boolean({ summary: 'Show the URL as a QR code (with --device)', dependsOn: ['device'] }),
  browser: Flags.boolean({
    allowNo: true,
    default: true,
    summary: 'Open a browser (--no-browser: print the sign-in URL, and read the redirect URL from stdin)',
  }),
  pkce: Flags.boolean({
    allowNo: true,
    default: true,
    summary: 'Use PKCE (--no-pkce: only for a server that rejects it)',
  }),
  wait: durationFlag({
    helpValue: 'DURATION',
    summary: 'Maximum wait for the browser (default: 5m, with --device 15m)',
  }),
  verify: Flags.boolean({
    allowNo: true,
    default: true,
    summary: 'Check the credential before it is stored (--no-verify: store it unchecked)',
  }),
  'insecure-storage': Flags.boolean({
    allowNo: true,
    summary:
      'Store the credential in a plain-text file; the profile remembers this (--no-insecure-storage: use the keychain again)',
  }),
}

export const loginFlags = { ...signInFlags, ...redirectFlags, 'dry-run': dryRunFlag }

/** The flags of a sign-in with OAuth. */
export interface BrowserFlags {
  web: boolean
  device: boolean
  qr: boolean
  browser: boolean
  pkce: boolean
  wait: number | undefined
  verify: boolean
}

/** Whether a flag, the environment, or the profile has an option that only the browser sign-in uses. */
export function impliesBrowser({ options }: Context, { browser, pkce, wait }: BrowserFlags): boolean {
  const isSaid = signInKeys.some((key) => options[key].source !== 'default')
  return isSaid || !browser || !pkce || wait !== undefined
}

export async function prefersKey({ prompter, streams }: Context): Promise<boolean> {
  if (!streams.isInteractive) return false
  const ways = { 'With a browser (OAuth)': false, 'With an API key': true }
  return prompter.choose('How do you want to sign in?', ways, '--web, --device, or --with-api-key')
}

/** Whether `--device` was given, or no browser can be opened and no flag is about one. */
export function prefersDevice(
  { host, output, options }: Context,
  { web, device, browser, pkce }: BrowserFlags,
): boolean {
  const isRedirected = web || !browser || !pkce || redirectKeys.some((key) => options[key].source === 'flag')
  // A script that reads JSON expects one result.
  return device || (!isRedirected && !host.hasDisplay && !output.isJson)
}

/** For `--dry-run`, which asks no server what it offers. */
export function describeOAuth(context: Context, flags: BrowserFlags): string {
  if (flags.device) return 'a code on any device'
  return prefersDevice(context, flags) ? 'a code on any device, or the browser' : 'the browser'
}
