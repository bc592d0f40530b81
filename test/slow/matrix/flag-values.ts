import { type CommandEntry, commands } from '../../support/manifest.ts'
import { type Call, callOf } from './calls.ts'

type FlagEntry = CommandEntry['flags'][string]

/** A value that a flag takes, and one that it cannot mean. */
interface Values {
  valid?: string
  /** Where it is left out, only nothing at all is refused. */
  nonsense?: string
}

/** By the name of the flag, after the command where one means something else by it. */
const values: Record<string, Values> = {
  profile: { valid: 'work', nonsense: 'nowhere' },
  'base-url': { valid: 'URL', nonsense: 'not an address' },
  output: { valid: 'json', nonsense: 'xml' },
  'chat output': { valid: 'text', nonsense: 'xml' },
  'history:export output': { valid: 'md', nonsense: 'xml' },
  fields: { valid: 'id' },
  jq: { valid: '.', nonsense: '.[' },
  timeout: { valid: '5s', nonsense: 'soon' },
  retries: { valid: '1', nonsense: 'many' },
  'max-wait': { valid: '1s', nonsense: '-1s' },
  wait: { valid: '1s', nonsense: 'a while' },
  data: { valid: 'new-data' },
  database: { valid: 'postgres://me@127.0.0.1:9/none', nonsense: 'mysql://me@127.0.0.1/none' },
  header: { valid: 'x-one: 1', nonsense: 'no colon' },
  field: { valid: 'a=b', nonsense: 'nothing' },
  'api data': { valid: '{"a":1}', nonsense: '{' },
  metadata: { valid: 'a=b', nonsense: 'nothing' },
  notification: { valid: 'email=on', nonsense: 'nothing' },
  notifications: { valid: 'on', nonsense: 'perhaps' },
  'rate-limiting': { valid: 'on', nonsense: 'perhaps' },
  'requests-per-minute': { valid: '5', nonsense: 'many' },
  'allowed-origin': { valid: 'https://a.example' },
  'allowed-method': { valid: 'GET' },
  concurrency: { valid: '2', nonsense: '0' },
  quota: { valid: '100/h', nonsense: 'some' },
  results: { valid: 'results.csv', nonsense: 'no/such/folder/results.csv' },
  id: { valid: 'u1' },
  line: { valid: '1', nonsense: '0' },
  limit: { valid: '5', nonsense: 'many' },
  expires: { valid: '30d', nonsense: 'soon' },
  permission: { valid: 'read:chat', nonsense: 'everything' },
  user: { valid: 'usr_admin', nonsense: 'nobody@example.com' },
  since: { valid: '7d', nonsense: 'long ago' },
  until: { valid: '1h', nonsense: 'long ago' },
  to: { valid: 'new.db' },
  'history:export to': { valid: 'history.json', nonsense: 'history.pdf' },
  save: { valid: 'plan.json', nonsense: 'no/such/folder/plan.json' },
  'settings:diff file': { valid: 'settings.yaml', nonsense: 'none.yaml' },
  'settings:apply file': { valid: 'settings.yaml', nonsense: 'none.yaml' },
  'settings:api:set file': { valid: 'api.yaml', nonsense: 'none.yaml' },
  'users:permissions:assign file': { valid: 'roles.csv', nonsense: 'none.csv' },
  'password-file': { valid: 'password.txt', nonsense: 'none.txt' },
  messages: { valid: 'messages.jsonl', nonsense: 'none.jsonl' },
  temperature: { valid: '0.5', nonsense: 'warm' },
  'max-tokens': { valid: '5', nonsense: 'many' },
  host: { valid: '127.0.0.1', nonsense: 'not a host' },
  port: { valid: '0', nonsense: '65536' },
  'admin-port': { valid: 'off', nonsense: 'on' },
  upstream: { valid: 'http://127.0.0.1:9/v1', nonsense: 'not an address' },
  'upstream-key-file': { valid: 'key.txt', nonsense: 'none.txt' },
  'tls-cert': { valid: 'tls.crt', nonsense: 'none.crt' },
  'tls-key': { valid: 'tls.key', nonsense: 'none.key' },
  'public-url': { valid: 'https://chat.example', nonsense: 'not an address' },
  'auth-url': { valid: 'URL', nonsense: 'not an address' },
  'token-url': { valid: 'URL', nonsense: 'not an address' },
  'redirect-host': { valid: '127.0.0.1', nonsense: 'chat.example' },
  'redirect-port': { valid: '0', nonsense: '65536' },
  'redirect-path': { valid: '/callback', nonsense: 'no slash' },
  scope: { valid: 'openid' },
  'client-id': { valid: 'chatctl' },
  model: { valid: 'small' },
  context: { valid: 'c1' },
  before: { valid: 'm1' },
  system: { valid: 'Be brief' },
  email: { valid: 'ada@example.com' },
  name: { valid: 'Ada' },
  theme: { valid: 'dark' },
  language: { valid: 'en' },
  role: { valid: 'editor' },
  version: { valid: 'v1' },
  resume: { valid: 'TRANSCRIPT', nonsense: 'none' },
  actor: { valid: 'machine' },
  action: { valid: 'key.create' },
  target: { valid: 'KEY' },
}

/** What a flag is added to, where the usual call already says it or forbids it. */
const bases: Record<string, { args: readonly string[]; stdin?: string }> = {
  // Without the --profile of the usual call.
  'auth:login profile': {
    args: ['auth', 'login', '--with-api-key', '--insecure-storage', '--no-verify'],
    stdin: 'another-key\n',
  },
  'chat:send stream': { args: ['chat', 'send', 'Hello'] },
  'chat:send stream-format': { args: ['chat', 'send', 'Hello'] },
  'users:create password-file': { args: ['users', 'create'] },
  'users:create generate-password': { args: ['users', 'create'] },
  'users:create password-stdin': { args: ['users', 'create'], stdin: 'a long enough password\n' },
  'users:create email': { args: ['users', 'create', '--generate-password'] },
  'service:admin:create password-file': { args: ['service', 'admin', 'create', 'ada@example.com'] },
  'service:admin:create password-stdin': {
    args: ['service', 'admin', 'create', 'ada@example.com'],
    stdin: 'a long enough password\n',
  },
  'service:users:reset password-file': { args: ['service', 'users', 'reset', 'usr_admin'] },
  'service:users:reset password-stdin': {
    args: ['service', 'users', 'reset', 'usr_admin'],
    stdin: 'a long enough password\n',
  },
  'service:keys:create name': { args: ['service', 'keys', 'create'] },
  'service:keys:create limit': {
    args: ['service', 'keys', 'create', '--name', 'ci', '--tier', 'enterprise'],
  },
  'service:keys:update name': { args: ['service', 'keys', 'update', 'KEY'] },
  'service:keys:update limit': { args: ['service', 'keys', 'update', 'KEY', '--tier', 'enterprise'] },
  'service:keys:revoke yes': { args: ['service', 'keys', 'revoke', 'KEY'] },
  'service:sessions:revoke yes': { args: ['service', 'sessions', 'revoke', 'SESSION'] },
  'service:restore yes': { args: ['service', 'restore', 'copy.db'] },
  'service:backup to': { args: ['service', 'backup'] },
  'service:run port': { args: ['service', 'run', '--admin-port', 'off', '--log-level', 'warn'] },
  'service:run admin-port': { args: ['service', 'run', '--port', '0', '--log-level', 'warn'] },
  'service:run log-level': { args: ['service', 'run', '--port', '0', '--admin-port', 'off'] },
  'service:run tls-cert': { args: [...serve(), '--tls-key', 'tls.key'] },
  'service:run tls-key': { args: [...serve(), '--tls-cert', 'tls.crt'] },
  'service:run upstream-key-file': { args: [...serve(), '--upstream', 'http://127.0.0.1:9/v1'] },
  'users:import generate-passwords': {
    args: ['users', 'import', 'users.csv', '--yes', '--results', 'results.csv'],
  },
  'users:import id': { args: ['users', 'import', 'users.csv', '--yes', '--on-unknown', 'created'] },
  'users:import line': { args: ['users', 'import', 'users.csv', '--yes', '--on-unknown', 'skip'] },
  'users:update name': { args: ['users', 'update', 'u1'] },
  'users:settings:set theme': { args: ['users', 'settings', 'set'] },
  'settings:diff file': { args: ['settings', 'diff'] },
  'settings:apply file': { args: ['settings', 'apply', '--yes'] },
  'settings:apply yes': { args: ['settings', 'apply', 'settings.yaml'] },
  'settings:edit yes': { args: ['settings', 'edit'] },
  'settings:api:set rate-limiting': { args: ['settings', 'api', 'set', '--version', 'v1'] },
  'users:import yes': { args: ['users', 'import', 'users.csv'] },
  'users:permissions:assign role': { args: ['users', 'permissions', 'assign', 'u1'] },
  'auth:login with-api-key': { args: ['auth', 'login', '--insecure-storage'], stdin: 'another-key\n' },
  'auth:logout yes': { args: ['auth', 'logout', '--all'] },
  'auth:logout all': { args: ['auth', 'logout', '--yes'] },
}

/** Of a file of rows: these flags belong to it. */
const ofRows = ['--file', 'roles.csv', '--yes']
const flagsOfRows = [
  'file',
  'format',
  'skip-invalid',
  'concurrency',
  'quota',
  'results',
  'restart',
  'close',
  'yes',
]
for (const flag of flagsOfRows) {
  const rows = flag === 'file' ? ofRows.slice(2) : flag === 'yes' ? ofRows.slice(0, 2) : ofRows
  bases[`users:permissions:assign ${flag}`] = { args: ['users', 'permissions', 'assign', ...rows] }
}

/** Flags of signing in through a browser, which nobody sits at: it is waited for in vain. */
const byBrowser = {
  '--auth-url': 'URL',
  '--token-url': 'URL',
  '--client-id': 'chatctl',
  '--wait': '1s',
}
const ofBrowser = ['web', 'browser', 'pkce', 'wait', 'auth-url', 'client-id', 'token-url', 'scope']
for (const flag of [...ofBrowser, 'redirect-host', 'redirect-port', 'redirect-path']) {
  const given = Object.entries(byBrowser).filter(([name]) => name !== `--${flag}`)
  const args = ['auth', 'login', '--insecure-storage', ...given.flat()]
  bases[`auth:login ${flag}`] = { args: flag === 'browser' ? args : [...args, '--no-browser'] }
}

function serve(): string[] {
  return ['service', 'run', '--port', '0', '--admin-port', 'off', '--log-level', 'warn']
}

/** What is given to the flag: what it takes, what it cannot mean, or nothing. */
type Kind = 'valid' | 'nonsense' | 'empty'

/** A command with one flag. */
export interface Flagged extends Call {
  command: string
  flag: string
  kind: Kind
  isShared: boolean
}

function addFlag({ id }: CommandEntry, entry: FlagEntry, words: readonly string[], kind: Kind): Flagged {
  const usual = callOf(id)
  const base = bases[`${id} ${entry.name}`] ?? usual
  const { service: _, ...call } = usual
  return {
    ...call,
    ...base,
    args: [...base.args, ...words],
    name: `${id} with ${kind} --${entry.name}`,
    command: id,
    flag: entry.name,
    kind,
    isShared: entry.helpGroup === 'GLOBAL',
  }
}

function valuesOf({ id }: CommandEntry, { name }: FlagEntry): Values | undefined {
  return values[`${id} ${name}`] ?? values[name]
}

const all = commands.flatMap((command) => Object.values(command.flags).map((entry) => ({ command, entry })))

/** Each flag of each command with what it takes. */
export const validFlags: readonly Flagged[] = all.map(({ command, entry }) => {
  if (entry.type === 'boolean') return addFlag(command, entry, [`--${entry.name}`], 'valid')
  const value = valuesOf(command, entry)?.valid ?? entry.options?.[0] ?? ''
  return addFlag(command, entry, [`--${entry.name}`, value], 'valid')
})

/** Each flag of each command with what it cannot mean, with nothing, or with a value where it takes none. */
export const nonsenseFlags: readonly Flagged[] = all.flatMap(({ command, entry }) => {
  const flag = `--${entry.name}`
  if (entry.type === 'boolean') return [addFlag(command, entry, [`${flag}=perhaps`], 'nonsense')]
  const nonsense = valuesOf(command, entry)?.nonsense ?? (entry.options ? 'no-such-word' : undefined)
  return [
    addFlag(command, entry, [flag, ''], 'empty'),
    ...(nonsense === undefined ? [] : [addFlag(command, entry, [flag, nonsense], 'nonsense')]),
  ]
})

/** Flags that take a value and that nobody gave one here. */
export const unvalued: readonly string[] = all
  .filter(
    ({ command, entry }) => entry.type === 'option' && !entry.options && !valuesOf(command, entry)?.valid,
  )
  .map(({ command, entry }) => `${command.id} --${entry.name}`)
