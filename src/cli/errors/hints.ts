import { durationFlagFor } from '../../config/units.ts'
import type { Advice, AdviceData, Listener } from '../../contract/advice.ts'
import { isLoopback } from '../../contract/base-url.ts'
import type { Failure } from '../../contract/failure.ts'
import { modelServerNames } from '../../contract/model-server-address.ts'
import { describeDuration } from '../../system/clock.ts'
import { assignment, commandLine, databaseFlagOf, endCommand, quoteWord } from '../command-line.ts'
import { type Connection, commandForConnection } from '../context/connection.ts'

type Hints = {
  readonly [Code in keyof AdviceData]:
    | string
    | ((data: AdviceData[Code], connection: Connection | undefined) => string)
}

/** The text for each piece of advice that an inner layer can give. */
export const hints: Hints = {
  // Requests
  longer_timeout: ({ ms }) => {
    const seconds = Math.ceil((2 * ms) / 1000)
    return `Allow more time with: --timeout ${seconds % 60 === 0 ? `${seconds / 60}m` : `${seconds}s`}`
  },
  longer_wait: retryLater,
  web_page: (_, connection) => `The response is a web page. ${checkAddress(connection)}`,
  bypass_proxy: ({ variable, host }) =>
    `Check ${variable}, or bypass the proxy with: ${assignment('NO_PROXY', host)}`,
  only_owner_writes: ({ path, owner }) =>
    `${owner === undefined ? 'chmod go-w' : `sudo chown ${owner}`} ${quoteWord(path)}`,
  check_address: ({ origin }, connection) => {
    const { protocol, hostname, port } = new URL(origin)
    const isDefaultHost = hostname === '127.0.0.1' || hostname === 'localhost'
    const start = ['service', 'run', ...(port === '8787' ? [] : ['--port', port || '80'])]
    const local = `If it is the embedded service, start it with: ${commandLine(...start)}. To use it without a server, select it with --profile local instead of this address.`
    return sentences([checkAddress(connection), ...(protocol === 'http:' && isDefaultHost ? [local] : [])])
  },
  other_scheme: ({ url }, connection) => {
    const isUsable = url.startsWith('https:') || isLoopback(new URL(url).hostname)
    return isUsable
      ? `Use this base URL: --base-url ${quoteWord(withPath(url, connection))}`
      : 'Check the port of the base URL.'
  },

  unset_model: ({ profile }) =>
    `Unset the model first: chatctl config unset model --profile ${quoteWord(profile)}`,
  list_prompts: 'List the prompts with: chatctl chat prompts list',
  set_base_url: ({ profile }) =>
    `Set it first with: chatctl config set base_url https://HOST --profile ${quoteWord(profile)}`,

  // Signing in
  unusable_credential: (_, connection) =>
    connection?.refusalHint ?? 'Enter it again, without surrounding characters.',
  sign_in_again: ({ profile, scope }) =>
    `Sign in again with: ${login(profile)}${scope === undefined ? '' : ` --scope ${quoteWord(scope)}`}`,
  find_token_endpoint_again: ({ profile }) => `Look up the current token endpoint with: ${login(profile)}`,
  replace_credential: ({ profile }) => `Replace it with: ${login(profile)}`,
  create_profile: ({ profile }) =>
    `Check the name with: chatctl auth list. To create the profile, run: ${login(profile)} --base-url https://…`,
  foreign_token_endpoint: ({ tokenEndpoint }) =>
    `If you trust it, run: ${assignment('CHATCTL_TOKEN_URL', tokenEndpoint)}`,
  expired_identity_token:
    'By the clock of this machine, the identity token has expired. For a long job, sign in at its beginning with: chatctl auth login --ci',
  audience_of_identity_token: ({ audience }) =>
    `The identity token is not for ${audience}. If the trust on the service names that audience, request a token for it. Otherwise, find the reason there with: chatctl service audit --action trust.refused`,
  trust_issuer: ({ issuer, subject, audience }) =>
    `If the service does not trust this identity, run there: chatctl service trust create NAME --issuer ${quoteWord(issuer)} --audience ${quoteWord(audience)} --subject ${quoteWord(subject)} --permission PERMISSION`,
  check_credential_command: ({ line, profile }) =>
    `Run it yourself: ${line}. To use another command, run: ${login(profile)} --credential-command COMMAND`,

  // The embedded service
  other_port: ({ listener }) =>
    `Choose another port with ${portFlags[listener]}, or any free port with ${portFlags[listener]} 0`,
  end_services: ({ processIds }) => `Stop it first with: ${endCommand(processIds)}`,
  unprivileged_port: ({ listener }) => `Choose a port above 1023 with ${portFlags[listener]}`,
  encrypt: 'Set a certificate with --tls-cert and --tls-key, or use --behind-proxy if a proxy terminates TLS',
  model_server_address: ({ meant }) =>
    `${meant === undefined ? '' : `Did you mean ${meant}? `}Use a URL such as http://127.0.0.1:11434/v1, or one of: ${modelServerNames.join(', ')}`,
  create_database: ({ exists }) =>
    `Create ${exists ? 'the database' : 'it'} with: createdb --encoding UTF8 --template template0`,
  back_up_postgres: 'Use pg_dump --format=custom --file=chatctl.dump DATABASE, and pg_restore',
  replace_file: 'Choose another file name, or add --force to replace the file',
  migrate: 'Back up the data, and migrate it with: chatctl service migrate',
  migrate_in_use:
    'Stop them first. To migrate also while they run, use service run --migrate or service migrate --force: they then respond with 503 until they are restarted',
  back_up_again: 'Create a new backup with: chatctl service backup --to FILE',
  database_or_directory:
    'Without a database, the service stores its data in SQLite, in the directory of --data',
  reset_password: ({ email }) =>
    `Set a new password with: ${commandLine('service', 'users', 'reset', email)}`,
  make_admin: ({ userId }) =>
    `Make the user an admin with: ${commandLine('users', 'permissions', 'assign', userId, '--role', 'admin')}`,
  create_admin: 'Create another admin first with: chatctl service admin create EMAIL',
  enable_user: ({ email }) => `Enable the user with: ${commandLine('service', 'users', 'enable', email)}`,
  list_users: 'List the users with: chatctl service users list',
  list_keys: 'List the keys with: chatctl service keys list',
  create_key: 'Create another key with: chatctl service keys create NAME',
  list_sign_ins: 'List the sign-in sessions with: chatctl service sessions list',
  list_trusts: 'List the trusts with: chatctl service trust list',
  revoke_trust: ({ name }) =>
    `Choose another name, or revoke that trust with: ${commandLine('service', 'trust', 'revoke', name)}`,
  start_service:
    'Start it with: chatctl service run. If one of the two commands has --data or --database, the other needs the same.',
  check_other_service: ({ url, place }) =>
    `The service at ${url} uses other data. Check it with: chatctl service status --ready ${databaseFlagOf(place)}`,

  // Messages and sessions
  larger_files:
    'The embedded service accepts messages of at most 1 MiB. For a service that accepts more, allow larger files with: --max-file-size SIZE',
  name_service_of_session: ({ session, baseUrl, profile }) => {
    const service = baseUrl && !profile ? ['--base-url', baseUrl] : ['--profile', profile ?? 'local']
    return `Choose that service with: ${commandLine('chat', '--resume', session, ...service)}`
  },

  // Plans
  make_seal_key: 'Make a key with: chatctl config seal-key FILE',
  give_seal_key:
    'Give the key with which the plan was sealed, with --seal-key-file FILE or in CHATCTL_SEAL_KEY.',

  approve_plan: 'After its review, approve it with: chatctl plan approve PLAN --key KEY',
  install_openssh:
    'Install OpenSSH 8.2 or later. On Debian, its package is openssh-client. On Windows, it is the optional feature OpenSSH Client.',

  // Settings as code
  other_plan_file: 'Choose another file with --save, or delete this one.',
  check_settings: ({ command }) => `Check the current settings with: ${command}`,

  // Users in bulk
  longer_total_wait: retryLater,
  adopt_existing: ({ email, id = 'ID' }) =>
    `Record the existing user with: ${commandLine('users', 'adopt', `${email}=${id}`)}`,
  adopt_email: ({ email, state }) =>
    `If you know the id, run: ${commandLine('users', 'adopt', `${email}=ID`, '--state', state)}`,
}

/** The end of every reply of the built-in test program: in this process, and in a service that runs apart. */
export const testProgramNotices = {
  local: 'To get replies from a model, run: chatctl config set model_server=ollama',
  running:
    'To get replies from a model, run the service with a model server: chatctl service run --model-server ollama',
}

function login(profile: string): string {
  return commandLine('auth', 'login', '--profile', profile)
}

/** An origin with the path of the base URL, if that has the same host. */
function withPath(origin: string, connection: Connection | undefined): string {
  const [, host, path = ''] = /^https?:\/\/([^/]+)(\/.*)?$/.exec(connection?.baseUrl?.trim() ?? '') ?? []
  return host === new URL(origin).host ? origin + path : origin
}

/** The command that shows the base URL, or examines it if it is not a profile's. */
function checkAddress(connection: Connection | undefined): string {
  if (connection?.baseUrl === undefined) return 'Check the base URL.'
  if (connection.isExamined) return 'Check that the service is running, and that the base URL is correct.'
  const isProfiles = connection.profile !== undefined && connection.baseUrlFrom === 'profile'
  return isProfiles
    ? `Check the address with: ${commandForConnection(connection, 'config', 'get', 'base_url')}`
    : `Check the address with: ${commandForConnection(connection, 'doctor')}`
}

const portFlags: Record<Listener, string> = { service: '--port', admin: '--admin-port' }

/** @param rest.total the whole wait, if there were others before; null if it exceeds the maximum of the flag */
function retryLater({ ms, until, total = ms }: { ms: number; until: string; total?: number | null }): string {
  const again = `Try again in ${describeDuration(ms)} (at ${until.replace(/\.\d+Z$/, 'Z')})`
  return total === null ? `${again}.` : `${again}, or wait for it with: --max-wait ${durationFlagFor(total)}`
}

/** The hint of a failure; undefined if it has none. @param connection whose profile or base URL the commands name */
export function hintOf({ hint, advice }: Failure, connection?: Connection): string | undefined {
  const words = [hint, ...advice.map((one) => describeAdvice(one, connection))].filter(
    (part) => part !== undefined,
  )
  return words.length === 0 ? undefined : sentences(words)
}

/** Separates hints: a command ends without a period, so that it can be pasted. */
export function sentences(hints: readonly string[]): string {
  return hints.reduce((before, next) => `${before}${/[.?…]$/.test(before) ? '' : '.'} ${next}`)
}

function describeAdvice(advice: Advice, connection: Connection | undefined): string {
  const words = hints[advice.code] as string | ((data: Advice, connection: Connection | undefined) => string)
  return typeof words === 'string' ? words : words(advice, connection)
}
