import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../cli/base-command.ts'
import type { Context } from '../../cli/context.ts'
import { calls } from '../../cli/documented-requests.ts'
import { durationFlag, textFlag } from '../../cli/flag-types.ts'
import { readLines } from '../../cli/input/read-lines.ts'
import { dryRunFlag } from '../../cli/shared-flags.ts'
import { noticeCredentialPrecedence } from '../../cli/sign-in/credential-in-use.ts'
import type { Revoke } from '../../cli/sign-in/end-dropped-sign-in.ts'
import { finishCommandLogin } from '../../cli/sign-in/finish-command-login.ts'
import { finishLogin, type Login } from '../../cli/sign-in/finish-login.ts'
import { checkStorage, type LoginPlan, planLogin } from '../../cli/sign-in/plan-login.ts'
import { readApiKey } from '../../cli/sign-in/read-api-key.ts'
import { redirectFlags } from '../../cli/sign-in/redirect-flags.ts'
import { signInKeys } from '../../config/configuration-file.ts'
import { readAddress } from '../../config/resolve-options.ts'
import { Failure } from '../../contract/failure.ts'
import {
  describeIdentitySource,
  type IdentitySource,
  readIdentitySource,
} from '../../credentials/identity-source.ts'
import type { ApiKey } from '../../credentials/stored-credential.ts'
import { readCommand } from '../../system/split-command.ts'
import { loginView } from '../../view/auth.ts'

const signInFlags = {
  'with-api-key': Flags.boolean({
    summary: 'Sign in with an API key from stdin or a hidden prompt',
    exclusive: ['web', 'wait'],
  }),
  'credential-command': textFlag({
    helpValue: 'CMD',
    summary: 'Store a command that prints the API key or token',
    exclusive: ['with-api-key', 'web', 'wait', 'ci', 'insecure-storage'],
  }),
  ci: Flags.boolean({
    summary: 'Sign in with the identity token of a CI job',
    exclusive: ['with-api-key', 'web', 'wait'],
  }),
  web: Flags.boolean({ summary: 'Sign in with a browser (OAuth); skips the prompt for the method' }),
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
    summary: 'Maximum wait for the browser (default: 5m)',
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

export default class AuthLogin extends BaseCommand {
  static override summary = 'Sign in with a browser or an API key'
  static override description =
    'If no flag or profile decides the method, chatctl asks for it, or uses the browser if stdin is not a terminal. The credential is stored in the system keychain, for one profile and one base URL. Without --profile, the profile is named after the host. Signing in again replaces the stored credential. chatctl also revokes the earlier tokens, unless another sign-in may still depend on them.'
  static override requests = {
    ...calls('getProfile'),
    note: 'and with a browser or --ci, OAuth requests to the authorization server.',
  }
  static override view = loginView
  static override examples = [
    {
      description: 'Sign in with the browser',
      command: 'chatctl auth login --web --base-url http://127.0.0.1:8787',
    },
    {
      description: 'Name the authorization server',
      command:
        'chatctl auth login --profile work --base-url https://chat.example --auth-url https://login.example --client-id my-client --scope chat:write',
    },
    {
      description: 'Sign in with an API key',
      command: 'chatctl auth login --profile work --base-url https://chat.example --with-api-key < key.txt',
    },
    {
      description: 'Get the API key from a password manager',
      command:
        "chatctl auth login --profile work --base-url https://chat.example --credential-command 'op read op://work/chat/key'",
    },
    {
      description: 'Sign in over SSH',
      command: 'chatctl auth login --base-url http://127.0.0.1:8787 --no-browser',
    },
  ]
  static override flags = { ...signInFlags, ...redirectFlags, 'dry-run': dryRunFlag }
  protected override readonly mayNameNewProfile = true
  protected override readonly takesProfileOfAddress = true

  async run(): Promise<void> {
    const { flags, context } = await this.start(AuthLogin)
    const command = flags['credential-command']
    if (command !== undefined) readCommand(command, 'credential command')
    const source = flags.ci ? demandIdentitySource(context) : undefined
    const withKey =
      flags['with-api-key'] ||
      (!command && !source && !flags.web && !impliesBrowser(context, flags) && (await prefersKey(context)))
    const plan = await planLogin(context, flags['insecure-storage'])
    const { profile, baseUrl } = plan.connection
    if (context.dryRun) {
      const way = source ? describeIdentitySource(source) : withKey ? 'an API key' : 'the browser'
      const shown = command ? { with: command, storage: 'command' } : { with: way, storage: plan.storage }
      return this.showLocalChange({ sign_in: { profile, base_url: baseUrl, ...shown, ...plan.settings } })
    }
    if (command === undefined) await checkStorage(context, plan)
    const login = command
      ? await finishCommandLogin(context, plan, command, flags.verify, revoke)
      : source
        ? await signInWithIdentity(context, plan, source, flags.verify)
        : withKey
          ? await finishLogin(context, plan, await readKey(context), flags.verify, revoke)
          : await signInWithBrowser(context, plan, flags)
    await context.output.show(loginView, login)
    noticeCredentialPrecedence(context)
  }
}

/** Default maximum wait for the browser, in ms. */
const defaultWait = 300_000

const revoke: Revoke = async (tokens, transport) => {
  const { revokeTokens } = await import('../../auth/token-endpoint.ts')
  return revokeTokens(tokens, transport)
}

/** @throws Failure `usage` if it is not said where the identity token is */
function demandIdentitySource({ env }: Context): IdentitySource {
  const source = readIdentitySource(env)
  if (source) return source
  throw new Failure('usage', 'CHATCTL_OIDC is not set, so it is not known where the identity token is', {
    hint: 'Set it to github, gitlab, env:NAME, or file:PATH.',
  })
}

async function signInWithIdentity(
  context: Context,
  plan: LoginPlan,
  source: IdentitySource,
  verify: boolean,
): Promise<Login> {
  const tokens = await context.exchangeIdentity(source, plan.connection.baseUrl)
  return finishLogin(context, { ...plan, isUnattended: true }, tokens, verify, revoke)
}

async function readKey(context: Context): Promise<ApiKey> {
  return { version: 1, kind: 'api_key', key: await readApiKey(context) }
}

/** Whether a flag, the environment, or the profile has an option that only sign-in with a browser uses. */
function impliesBrowser({ options }: Context, { browser, pkce, wait }: BrowserFlags): boolean {
  const isSaid = signInKeys.some((key) => options[key].source !== 'default')
  return isSaid || !browser || !pkce || wait !== undefined
}

async function prefersKey({ prompter, streams }: Context): Promise<boolean> {
  if (!streams.isInteractive) return false
  const ways = { 'With a browser (OAuth)': false, 'With an API key': true }
  return prompter.choose('How do you want to sign in?', ways, '--web or --with-api-key')
}

interface BrowserFlags {
  browser: boolean
  pkce: boolean
  wait: number | undefined
  verify: boolean
}

async function signInWithBrowser(context: Context, plan: LoginPlan, flags: BrowserFlags): Promise<Login> {
  const { options, output, transport } = context
  const { authUrl, clientId } = await chooseServer(context, plan)
  const settings = { ...plan.settings, auth_url: authUrl, client_id: clientId }
  const { signIn } = await import('../../auth/sign-in.ts')
  const login = await signIn(
    {
      authUrl,
      clientId,
      tokenUrl: options.token_url.value,
      scope: options.scope.value,
      pkce: flags.pkce,
      redirect: {
        host: options.redirect_host.value,
        ports: options.redirect_port.value,
        path: options.redirect_path.value,
      },
      wait: flags.wait ?? defaultWait,
      transport,
      openBrowser: flags.browser ? (url) => context.host.openBrowser(url) : undefined,
      onAddress: (url, browser) => showAddress(context, url, browser),
      onIgnored: (reason) => output.notice(`Still waiting: ${reason}.`),
      pasted: (signal) => readLines(context.streams, signal),
    },
    (tokens) => finishLogin(context, { ...plan, settings }, tokens, flags.verify, revoke),
  )
  const missing = missingScopes(options.scope.value, login.scope)
  if (missing.length > 0) {
    await output.warn(`The authorization server did not grant these scopes: ${missing.join(' ')}`)
  }
  return login
}

/** RFC 6749 section 3.3: what the server grants may be less than what was requested. */
function missingScopes(requested = '', granted: string | null): string[] {
  const given = new Set(granted?.split(' '))
  return requested.split(/\s+/).filter((scope) => scope !== '' && !given.has(scope))
}

/** The given server, or the service if it is an authorization server, or the reply to a prompt. */
async function chooseServer({ options, prompter, transport }: Context, { connection }: LoginPlan) {
  const orKey = 'or add --with-api-key'
  const { baseUrl } = connection
  const { servesSignIn, defaultClientId } = await import('../../auth/authorization-server.ts')
  const isSelf = options.auth_url.value === undefined && (await servesSignIn(baseUrl, transport))
  const authUrl =
    options.auth_url.value ??
    (isSelf
      ? baseUrl
      : await prompter.askText('URL of the authorization server:', `--auth-url URL, ${orKey}`, readAddress))
  const clientId =
    options.client_id.value ??
    (isSelf ? defaultClientId : await prompter.askText('Client ID:', `--client-id ID, ${orKey}`))
  return { authUrl, clientId }
}

async function showAddress(
  { output, streams }: Context,
  url: string,
  browser: 'opening' | 'failed' | 'none',
): Promise<void> {
  if (browser === 'failed') output.notice('Cannot open a browser.')
  await output.showAddress('To sign in, open this address:', url)
  if (browser !== 'opening' && streams.isInteractive) {
    output.notice('Then wait, or paste the address of the last page here.')
  }
}
