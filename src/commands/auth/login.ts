import { describeIdentitySource } from '../../auth/credentials/environment-credential.ts'
import type { ApiKey, TokenSet } from '../../auth/credentials/stored-credential.ts'
import type { DeviceSignIn } from '../../auth/device-sign-in.ts'
import type { SignIn } from '../../auth/sign-in.ts'
import { BaseCommand } from '../../cli/base-command.ts'
import type { Context } from '../../cli/context/context.ts'
import { noticeCredentialPrecedence } from '../../cli/credential/credential-in-use.ts'
import { calls } from '../../cli/documented-requests.ts'
import { hasPipedStdin, readStdin } from '../../cli/input/read-input.ts'
import { readLines } from '../../cli/input/read-lines.ts'
import { readAddress } from '../../config/option-values.ts'
import { Failure } from '../../contract/failure.ts'
import { bearer } from '../../contract/headers.ts'
import { maxSecretBytes } from '../../system/files/read-named-file.ts'
import { readCommand } from '../../system/split-command.ts'
import { loginView } from '../../view/auth.ts'
import {
  demandIdentitySource,
  finishCommandLogin,
  finishLogin,
  type Login,
  noticeStoredToken,
  signInWithIdentity,
} from './sign-in/finish-login.ts'
import {
  type BrowserFlags,
  describeOAuth,
  impliesBrowser,
  loginFlags,
  prefersDevice,
  prefersKey,
} from './sign-in/login-flags.ts'
import { checkStorage, type LoginPlan, planLogin } from './sign-in/plan-login.ts'
import { demandTerminalForQrCode, showDeviceCode } from './sign-in/show-device-code.ts'

export default class AuthLogin extends BaseCommand {
  static override summary = 'Sign in with a browser or an API key'
  static override description =
    'If no flag or profile decides the method, chatctl asks for it, or uses the browser if stdin is not a terminal. Without a display, as over SSH, it uses --device if the server offers this. The credential is stored in the system keychain, for one profile and one base URL. Without --profile, the profile is named after the host. Signing in again replaces the stored credential. chatctl also revokes the earlier tokens, unless another sign-in may still depend on them.'
  static override requests = {
    ...calls('getProfile'),
    note: 'and without an API key, OAuth requests to the authorization server.',
  }
  static override view = loginView
  static override examples = BaseCommand.toExamples({
    'Sign in with the browser': 'chatctl auth login --web --base-url http://127.0.0.1:8787',
    'Name the authorization server':
      'chatctl auth login --profile work --base-url https://chat.example --auth-url https://login.example --client-id my-client --scope chat:write',
    'Sign in with an API key':
      'chatctl auth login --profile work --base-url https://chat.example --with-api-key < key.txt',
    'Get the API key from a password manager':
      "chatctl auth login --profile work --base-url https://chat.example --credential-command 'op read op://team/chat/key'",
    'Sign in over SSH': 'chatctl auth login --profile work --base-url https://chat.example --device',
  })
  static override flags = loginFlags
  protected override readonly mayNameNewProfile = true
  protected override readonly takesProfileOfAddress = true

  async run(): Promise<void> {
    const { flags, context } = await this.start(AuthLogin)
    const command = flags['credential-command']
    if (command !== undefined) readCommand(command, 'credential command')
    const source = flags.ci ? demandIdentitySource(context) : undefined
    const withKey =
      flags['with-api-key'] ||
      (!command &&
        !source &&
        !flags.web &&
        !flags.device &&
        !impliesBrowser(context, flags) &&
        (await prefersKey(context)))
    const plan = await planLogin(context, flags['insecure-storage'])
    const { profile, baseUrl } = plan.connection
    if (flags.qr) demandTerminalForQrCode(context)
    if (context.dryRun) {
      const way = source
        ? describeIdentitySource(source)
        : withKey
          ? 'an API key'
          : describeOAuth(context, flags)
      const shown = command ? { with: command, storage: 'command' } : { with: way, storage: plan.storage }
      return this.showLocalChange({ sign_in: { profile, base_url: baseUrl, ...shown, ...plan.settings } })
    }
    if (command === undefined) await checkStorage(context, plan)
    const login = command
      ? await finishCommandLogin(context, plan, command, flags.verify)
      : source
        ? await signInWithIdentity(context, plan, source, flags.verify)
        : withKey
          ? await finishLogin(context, plan, await readKey(context), flags.verify)
          : await signInWithOAuth(context, plan, flags)
    await warnOfMissingScopes(context, login)
    // With JSON output, the code was an event too.
    await (flags.device && context.output.isJson
      ? context.output.showEvent({ ...login })
      : context.output.show(loginView, login))
    if (source) noticeStoredToken(context, login)
    else noticeCredentialPrecedence(context)
  }
}

/** Default maximum waits, in ms. */
const browserWait = 300_000
const deviceWait = 900_000

const instead = 'stdin: chatctl auth login --with-api-key < key.txt'

/**
 * An API key from a pipe or a file on stdin, otherwise from a hidden prompt.
 * @throws Failure `input_needed` if it is empty, `refused` if it is not valid in a header
 */
async function readKey(context: Context): Promise<ApiKey> {
  const text = hasPipedStdin(context)
    ? await readStdin('the API key', context, maxSecretBytes)
    : await context.prompter.askSecret('API key:', instead)
  const key = text.trim()
  if (key === '') {
    throw new Failure('input_needed', 'The API key is missing or empty', { hint: `Pass it on ${instead}` })
  }
  bearer(key)
  return { version: 1, kind: 'api_key', key }
}

async function signInWithOAuth(context: Context, plan: LoginPlan, flags: BrowserFlags): Promise<Login> {
  const { options } = context
  const { authUrl, clientId } = await chooseServer(context, plan)
  const settings = { ...plan.settings, auth_url: authUrl, client_id: clientId }
  const server = { authUrl, clientId, tokenUrl: options.token_url.value, scope: options.scope.value }
  const finish = (tokens: TokenSet) => finishLogin(context, { ...plan, settings }, tokens, flags.verify)
  const tokens = prefersDevice(context, flags) ? await getTokensOnDevice(context, server, flags) : undefined
  return tokens ? await finish(tokens) : await signInWithBrowser(context, server, flags, finish)
}

/** The authorization server and the request to it. */
type OAuthServer = Pick<SignIn, 'authUrl' | 'clientId' | 'tokenUrl' | 'scope'>

/** @returns undefined if the server does not offer or refuses this, and `--device` was not given */
async function getTokensOnDevice(
  context: Context,
  server: OAuthServer,
  { device, qr, wait = deviceWait }: BrowserFlags,
): Promise<TokenSet | undefined> {
  const { signInOnDevice } = await import('../../auth/device-sign-in.ts')
  const { transport, output } = context
  const onCode: DeviceSignIn['onCode'] = (code, left) => showDeviceCode(context, code, left, qr)
  const onRefused = device
    ? undefined
    : ({ message }: Failure) => output.notice(`No code for another device: ${message}`)
  const tokens = await signInOnDevice({ ...server, wait, transport, onCode, onRefused })
  if (tokens || !device) return tokens
  const hint = 'Sign in with --no-browser, which prints a URL to open on any machine, or with --with-api-key.'
  throw new Failure('usage', `${server.authUrl} does not offer a sign-in on another device`, {
    hint: server.tokenUrl === undefined ? hint : `${hint} With --token-url, the metadata is not read.`,
  })
}

async function signInWithBrowser(
  context: Context,
  server: OAuthServer,
  flags: BrowserFlags,
  finish: (tokens: TokenSet) => Promise<Login>,
): Promise<Login> {
  const { host, options, output, transport } = context
  // Over SSH, a browser might open on a screen that the user does not see.
  const opensBrowser = flags.browser && (flags.web || host.hasDisplay)
  const { signIn } = await import('../../auth/sign-in.ts')
  return signIn(
    {
      ...server,
      pkce: flags.pkce,
      redirect: {
        host: options.redirect_host.value,
        ports: options.redirect_port.value,
        path: options.redirect_path.value,
      },
      wait: flags.wait ?? browserWait,
      transport,
      openBrowser: opensBrowser ? (url) => host.openBrowser(url) : undefined,
      onAddress: (url, browser) => showAddress(context, url, browser),
      onIgnored: (reason) => output.notice(`Still waiting: ${reason}.`),
      pasted: (signal) => readLines(context.streams, signal),
    },
    finish,
  )
}

/** RFC 6749 section 3.3: what the server grants may be less than what was requested. */
async function warnOfMissingScopes({ options, output }: Context, { scope }: Login): Promise<void> {
  if (scope === null) return
  const granted = new Set(scope.split(' '))
  const requested = (options.scope.value ?? '').split(/\s+/)
  const missing = requested.filter((name) => name !== '' && !granted.has(name))
  if (missing.length === 0) return
  await output.warn(`The authorization server did not grant these scopes: ${missing.join(' ')}`)
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
  await output.showAddress('To sign in, open this URL:', url)
  if (browser !== 'opening' && streams.isInteractive) {
    output.notice('Then wait, or paste the URL of the last page here.')
  }
}
