import { nearest } from '../../contract/nearest-word.ts'
import type { Row } from './page.ts'

/** Variables that replace a flag. A flag on the command line takes precedence. */
export const flagVariables: readonly Row[] = [
  ['CHATCTL_PROFILE', '--profile'],
  ['CHATCTL_BASE_URL', '--base-url'],
  ['CHATCTL_MODEL', '--model'],
  ['CHATCTL_OUTPUT', '--output'],
  ['CHATCTL_JSON', '--json'],
  ['CHATCTL_FIELDS', '--fields'],
  ['CHATCTL_JQ', '--jq'],
  ['CHATCTL_QUIET', '--quiet'],
  ['CHATCTL_DEBUG', '--debug'],
  ['CHATCTL_NO_INPUT', '--no-input'],
  ['CHATCTL_NO_COLOR', '--no-color'],
  ['CHATCTL_TIMEOUT', '--timeout'],
  ['CHATCTL_RETRIES', '--retries'],
  ['CHATCTL_MAX_WAIT', '--max-wait'],
  ['CHATCTL_SAVE', 'on or off: record chats or not (--no-save)'],
  ['CHATCTL_DRY_RUN', '--dry-run'],
  ['CHATCTL_YES', '--yes'],
  ['CHATCTL_DATABASE', '--database'],
  ['CHATCTL_MODEL_SERVER', '--model-server, also of profile local'],
  ['CHATCTL_MODEL_SERVER_KEY_FILE', '--model-server-key-file, also of local'],
  ['CHATCTL_AUTH_URL', '--auth-url of auth login'],
  ['CHATCTL_CLIENT_ID', '--client-id of auth login'],
  ['CHATCTL_TOKEN_URL', '--token-url of auth login'],
  ['CHATCTL_SCOPE', '--scope of auth login'],
  ['CHATCTL_REDIRECT_HOST', '--redirect-host of auth login'],
  ['CHATCTL_REDIRECT_PORT', '--redirect-port of auth login'],
  ['CHATCTL_REDIRECT_PATH', '--redirect-path of auth login'],
]

export const credentialVariables: readonly Row[] = [
  ['CHATCTL_API_KEY', 'API key, instead of the stored credential'],
  ['CHATCTL_API_KEY_FILE', 'File that contains the API key, if CHATCTL_API_KEY is not set'],
  ['CHATCTL_SEAL_KEY', 'Key of sealed plans, if --seal-key-file is not given'],
  ['CHATCTL_OIDC', 'CI identity: github, gitlab, env:NAME, or file:PATH'],
  ['CHATCTL_OIDC_AUDIENCE', 'Audience of that identity (default: base URL origin)'],
  ['CHATCTL_ID_TOKEN', 'Identity token for CHATCTL_OIDC=gitlab'],
]

export const otherVariables: readonly Row[] = [
  ['CHATCTL_APPROVERS', 'File of approvers, if the profile names none'],
  ['CHATCTL_DATABASE_FILE', 'File that contains the URL of CHATCTL_DATABASE'],
  ['CHATCTL_EMAIL', 'Email of the user, for --password-command'],
  ['CHATCTL_READ_ONLY', '1: refuse every change (in a profile: read_only)'],
  ['CHATCTL_NOTIFY', 'on or off: whether chat notifies of long replies'],
  ['HTTPS_PROXY, HTTP_PROXY', 'Proxy, as HOST:PORT or a URL'],
  ['ALL_PROXY, NO_PROXY', 'Proxy for both; hosts to reach without one'],
  ['NODE_EXTRA_CA_CERTS', 'PEM file of additional certificate authorities'],
  ['NODE_USE_SYSTEM_CA', '1: trust the certificate authorities of the system'],
  ['VISUAL, EDITOR', 'Editor (default: vi, or notepad on Windows)'],
  ['BROWSER', 'Browser for auth login'],
  ['NO_COLOR', 'Disable color'],
  ['FORCE_COLOR', 'Enable color even if stdout is not a terminal'],
  ['TERM', 'Terminal type; dumb disables color and animation'],
  ['LC_ALL, LC_CTYPE, LANG', 'Locale; doctor uses only ASCII characters if it is not UTF-8'],
  ['DISPLAY, WAYLAND_DISPLAY', 'Desktop with the browser and the clipboard'],
  ['SSH_CONNECTION', 'If set, auth login and /copy (OSC 52) use no desktop'],
  ['HOME', 'Home directory (Windows: USERPROFILE)'],
  ['XDG_CONFIG_HOME', 'Base of the config directory (Windows: APPDATA)'],
  ['XDG_DATA_HOME', 'Base of the data directory (Windows: LOCALAPPDATA)'],
  ['XDG_STATE_HOME', 'Base of the state directory (Windows: LOCALAPPDATA)'],
  ['XDG_CACHE_HOME', 'Base of the cache directory (Windows: LOCALAPPDATA)'],
  ['TMPDIR', 'Directory for temporary files (Windows: TEMP)'],
  ['PGHOST, PGPORT', 'PostgreSQL server, as in libpq'],
  ['PGDATABASE, PGUSER', 'PostgreSQL database and user'],
  ['PGPASSWORD, PGPASSFILE', 'PostgreSQL password, or the file that contains it'],
  ['PGSSLMODE', 'TLS for PostgreSQL, as in libpq'],
  ['PGSSLNEGOTIATION', 'How TLS starts: postgres or direct'],
  ['PGOPTIONS', 'Options for the PostgreSQL server'],
  ['OCLIF_COLUMNS', 'Width of help pages'],
]

/** Every CHATCTL_ variable. */
export const ownVariables: readonly string[] = [...flagVariables, ...credentialVariables, ...otherVariables]
  .map(([name]) => name)
  .filter((name) => name.startsWith('CHATCTL_'))

/** Set by chatctl itself, or read by install.sh, the build, and the tests. */
const others =
  /^CHATCTL_(?:DISABLE_THEME|KEYCHAIN_CALL|CREDENTIAL_COMMAND|DOWNLOADS|UPDATE_GOLDEN|SOAK_MINUTES|TEST_[A-Z_]+)$/

/** Variables that chatctl does not know, such as a misspelled CHATCTL_DRY_RUN, without their values. */
export function unknownVariables(env: NodeJS.ProcessEnv): { message: string; hint: string }[] {
  return Object.keys(env)
    .filter(
      (name) =>
        name.startsWith('CHATCTL_') && env[name] !== '' && !ownVariables.includes(name) && !others.test(name),
    )
    .map((name) => {
      const meant = nearest(name, ownVariables)
      const question = meant === undefined ? 'Remove it with' : `Did you mean ${meant}? Otherwise`
      return { message: `${name} is not a variable of chatctl`, hint: `${question}: unset ${name}` }
    })
}
