import type { Context } from '../../../cli/context/context.ts'
import { signInKeys } from '../../../config/configuration-file.ts'

const redirectKeys = ['redirect_host', 'redirect_port', 'redirect_path'] as const

/** The flags of a sign-in that redirects a browser to this machine. */
export const redirectWays = ['browser', 'pkce', ...redirectKeys.map((key) => key.replace('_', '-'))]

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

/** Whether a flag, the environment, or the profile has an option that only sign-in with a browser uses. */
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
