import { durationFlagFor } from '../config/duration.ts'
import type { Advice, AdviceData, Listener } from '../contract/advice.ts'
import { isLoopback } from '../contract/base-url.ts'
import type { Failure } from '../contract/failure.ts'
import { describeDuration } from '../system/clock.ts'

const savingCommand = 'chatctl settings diff FILE --save PLAN'

type Hints = { readonly [Code in keyof AdviceData]: string | ((data: AdviceData[Code]) => string) }

/** What to do after a failure, in words: each piece of advice that an inner layer can give. */
const hints: Hints = {
  // Requests
  longer_timeout: ({ ms }) => {
    const seconds = Math.ceil((2 * ms) / 1000)
    return `Give it longer with --timeout ${seconds % 60 === 0 ? `${seconds / 60}m` : `${seconds}s`}.`
  },
  longer_wait: ({ ms, until }) => {
    const wait = `--max-wait ${Math.ceil(ms / 1000)}s`
    return `${describeRetryTime(ms, until)}, or let it wait with ${wait}.`
  },
  web_page: ({ method, url }) =>
    `A web page answered ${method} ${url}: check the base URL, or let chatctl doctor look.`,
  other_scheme: ({ url }) => {
    const isUsable = url.startsWith('https:') || isLoopback(new URL(url).hostname)
    return isUsable ? `Use this address: --base-url ${url}` : 'Check the port of the base URL.'
  },

  // Signing in
  sign_in_again: ({ profile }) => `chatctl auth login --profile ${profile}`,
  find_token_endpoint_again: ({ profile }) =>
    `To ask the server for its address again: chatctl auth login --profile ${profile}`,
  replace_credential: ({ profile }) => `Replace it: chatctl auth login --profile ${profile}`,
  create_profile: ({ profile }) =>
    `Make it with: chatctl auth login --profile ${profile} --base-url https://…`,
  create_keyring:
    'Put the API key into CHATCTL_API_KEY, or sign in with --insecure-storage, which stores the credential in a file. On a desktop, create a default keyring with its password program.',
  no_keychain:
    'Put the API key into CHATCTL_API_KEY, or sign in with --insecure-storage, which keeps the credential in a file.',
  other_redirect_port:
    'Name another port with --redirect-port, one that the service takes in a redirect URL.',
  other_redirect_host: ({ host }) => `Use the other one with --redirect-host ${host}.`,
  known_scope: 'Name a scope that the server knows, with --scope.',
  contested_sign_in:
    'Another user of this machine may have tried to sign you in to their account. Sign in again; to use a browser that chatctl does not open, add --no-browser.',
  foreign_issuer: 'Somebody may have come between. If the server has another name, use that as --auth-url.',
  nobody_came: ({ redirectUri }) =>
    `If the browser shows an error instead of a sign-in, the server probably does not know this client id, or does not allow its redirect URI ${redirectUri}; if it is on another machine, use --no-browser and paste the address that it ends on.`,
  name_token_endpoint: 'Name its token endpoint with --token-url, or use an API key: add --with-api-key.',
  name_issuer:
    'See that the auth URL is exactly the issuer that the server names itself, or give --token-url.',

  // The embedded service
  other_port: ({ listener }) =>
    `Choose another port with ${portFlags[listener]}, or any free port with ${portFlags[listener]} 0`,
  unprivileged_port: ({ listener }) => `Choose a port above 1023 with ${portFlags[listener]}`,
  encrypt: 'Set a certificate with --tls-cert and --tls-key, or use --behind-proxy if a proxy terminates TLS',
  upstream_address: 'For example: --upstream http://127.0.0.1:11434/v1, or the preset --upstream ollama',
  create_database: ({ exists }) =>
    `Create ${exists ? 'the database' : 'it'} with: createdb --encoding UTF8 --template template0`,
  back_up_postgres: 'Use pg_dump --format=custom --file=chatctl.dump DATABASE, and pg_restore',
  back_up_again: 'Create a new backup with: chatctl service backup --to FILE',
  database_or_directory:
    'Without a database, the service stores its data in SQLite, in the directory of --data',
  reset_password: ({ email }) => `Set a new password with: chatctl service users reset ${email}`,
  make_admin: ({ userId }) =>
    `Make the user an admin with: chatctl users permissions assign ${userId} --role admin`,
  list_keys: 'List the keys with: chatctl service keys list',
  create_key: 'Create another key with: chatctl service keys create --name NAME',
  list_sign_ins: 'List the sessions with: chatctl service sessions list',

  // Sessions
  list_sessions: 'List the sessions on this machine with: chatctl chat sessions',
  list_all_sessions: 'List all sessions with: chatctl chat sessions --all',
  longer_session_id: 'Use a longer part of the ID. List all sessions with: chatctl chat sessions --all',
  close_session: 'Close the session there, or start another one with: chatctl chat',
  name_service_of_session: ({ session, baseUrl }) => {
    const service = baseUrl ? `--base-url ${baseUrl}` : '--profile local'
    return `Choose that service with: chatctl chat --resume ${session} ${service}`
  },

  // Settings as code
  refresh_plan: 'Make a new plan from the current settings with: --refresh',
  save_plan: `Make a plan with: ${savingCommand}`,
  save_new_plan: `Make a new plan with: ${savingCommand}`,
  service_of_plan: `Choose that service with --base-url or --profile, or make a plan for this service with: ${savingCommand}`,
  other_plan_file: 'Choose another file with --save, or delete this one.',
  export_settings: 'Create a file to start from with: chatctl settings export > settings.yaml',
  expand_references: 'To expand references to environment variables, use --expand-env.',
  check_settings: ({ command }) => `Check the current settings with: ${command}`,

  // Users in bulk
  longer_total_wait: ({ ms, until, total }) => {
    const again = describeRetryTime(ms, until)
    return total === null
      ? `${again}.`
      : `${again}, or let it wait with --max-wait ${durationFlagFor(total)}.`
  },
  no_unknown_row: 'Run the same command without --on-unknown.',
  name_unknown_row: ({ places }) => `Choose the row with --line: ${places}`,
  other_results_file: 'Choose another file with --results.',
  move_results_file: 'Choose another file with --results, or move that file.',
  resume_with_passwords: ({ path }) => `Resume with: --generate-passwords --results ${path}`,
  skip_invalid: ({ faults }) =>
    `Fix ${faults === 1 ? 'the row' : 'the rows'}, or skip invalid rows with --skip-invalid.`,
  restore_rows:
    'Restore these rows. You may add rows, and change existing users with chatctl users update. With --restart, chatctl sends every row again and creates every user again.',
  json_lines: 'For one object per line, use: --format jsonl',
}

/** What each answer of the embedded service's own model ends with. */
export const offlineNotice =
  'To get real replies, start the service with a model server: chatctl service run --upstream ollama'

const portFlags: Record<Listener, string> = { service: '--port', admin: '--admin-port' }

function describeRetryTime(ms: number, until: string): string {
  return `Try again in ${describeDuration(ms)} (at ${until.replace(/\.\d+Z$/, 'Z')})`
}

/** What to do after a failure, for a person; undefined where nothing is known to help. */
export function hintOf({ hint, advice }: Failure): string | undefined {
  const words = [hint, ...advice.map(describeAdvice)].filter((part) => part !== undefined)
  return words.length === 0 ? undefined : words.join(' ')
}

function describeAdvice<Code extends keyof AdviceData>(advice: { code: Code } & AdviceData[Code]): string
function describeAdvice(advice: Advice): string {
  const words = hints[advice.code] as string | ((data: Advice) => string)
  return typeof words === 'string' ? words : words(advice)
}
