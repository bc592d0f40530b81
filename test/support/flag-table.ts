import { commands } from './manifest.ts'

type Codes = readonly number[]

/** A flag with valid and invalid values, its effect on the request, and the exit codes of its command. */
export interface FlagRow {
  valid?: string
  /** An invalid value. Without it, only an empty value is refused. */
  invalid?: string
  /** The command line to which the flag is added, if the usual call contains or excludes the flag. */
  base?: string
  /** The stdin of the base. */
  stdin?: string
  /** The exit codes with a valid value, if they differ from those without the flag. */
  ends?: Codes
  /** The exit codes with a valid value and JSON output. */
  jsonEnds?: Codes
  /** The exit codes with an invalid value that is not a usage error, such as a missing file. */
  invalidEnds?: Codes
  /** The exit codes of the commands that have the flag but refuse it. */
  refused?: Codes
}

/** What a flag adds to the request of a command. Without the flag, the request contains none of it. */
export interface Addition {
  to: string
  words: readonly string[]
  body?: object
  query?: string
  headers?: Record<string, string>
}

/** By the placeholder of the flag in the help, such as `--wait DURATION`. A new flag with one of these needs no row. */
const byPlaceholder: Record<string, FlagRow> = {
  CODE: { valid: 'en' },
  DIRECTORY: { valid: 'new-data' },
  DURATION: { valid: '30s', invalid: 'soon' },
  ID: { valid: 'u1' },
  'KEY=TEXT': { valid: 'a=b', invalid: 'nothing' },
  'KEY=VALUE': { valid: 'a=b', invalid: 'nothing' },
  'KEY=on|off': { valid: 'email=on', invalid: 'nothing' },
  N: { valid: '5', invalid: 'many' },
  NAME: { valid: 'dark' },
  SIZE: { valid: '2m', invalid: 'many' },
  TEXT: { valid: 'Ada' },
  TIME: { valid: '7d', invalid: 'long ago' },
  'on|off': { valid: 'on', invalid: 'perhaps' },
}

/** A message for each row. */
const batch = 'chat send {{email}} --each users.csv --results replies.jsonl --yes'

/** By the name of the flag. */
const byName: Record<string, FlagRow> = {
  action: { valid: 'key.create' },
  actor: { valid: 'machine' },
  'admin-port': { valid: 'off', invalid: 'on' },
  'allowed-method': { valid: 'GET' },
  'allowed-origin': { valid: 'https://a.example' },
  'auth-url': { valid: 'URL', invalid: 'not an address' },
  'base-url': { valid: 'URL', invalid: 'not an address', refused: [2, 3, 4] },
  before: { valid: 'm1' },
  'client-id': { valid: 'chatctl' },
  concurrency: { valid: '2', invalid: '0' },
  database: { valid: 'postgres://me@127.0.0.1:9/none', invalid: 'mysql://me@127.0.0.1/none', ends: [69] },
  email: { valid: 'ada@example.com' },
  fields: { valid: 'id', refused: [1, 2] },
  header: { valid: 'x-one: 1', invalid: 'no colon' },
  host: { valid: '127.0.0.1', invalid: 'not a host' },
  jq: { valid: '.', invalid: '.[', refused: [2] },
  'limit-reads': { valid: '1', invalid: '0' },
  key: { valid: 'key.txt' },
  line: { valid: '1', invalid: '0' },
  'max-wait': { valid: '1s', invalid: '-1s' },
  messages: { valid: 'messages.jsonl', invalid: 'none.jsonl' },
  output: { valid: 'json', invalid: 'xml' },
  'password-file': { valid: 'password.txt', invalid: 'none.txt' },
  permission: { valid: 'read:chat', invalid: 'everything' },
  port: { valid: '0', invalid: '65536' },
  profile: { valid: 'work', invalid: 'nowhere', refused: [2] },
  prompt: { valid: 'review', invalid: 'none', invalidEnds: [6] },
  'public-url': { valid: 'https://chat.example', invalid: 'not an address' },
  quota: { valid: '100/h', invalid: 'some' },
  'redirect-host': { valid: '127.0.0.1', invalid: 'chat.example' },
  'redirect-path': { valid: '/callback', invalid: 'no slash' },
  'redirect-port': { valid: '0', invalid: '65536' },
  'requests-per-minute': { valid: '60', invalid: 'many' },
  results: { valid: 'results.csv', invalid: 'no/such/directory/results.csv', invalidEnds: [1] },
  resume: { valid: 'TRANSCRIPT', invalid: 'none' },
  retries: { valid: '1', invalid: 'many' },
  role: { valid: 'editor' },
  'seal-key-file': { valid: 'seal.key', invalid: 'none.key', invalidEnds: [0, 2] },
  search: { valid: 'Hi' },
  save: { valid: 'plan.json', invalid: 'no/such/directory/plan.json', invalidEnds: [1] },
  scope: { valid: 'openid' },
  state: { valid: 'team.state.json' },
  target: { valid: 'KEY' },
  temperature: { valid: '0.5', invalid: 'warm' },
  'tls-cert': { valid: 'tls.crt', invalid: 'none.crt' },
  'tls-key': { valid: 'tls.key', invalid: 'none.key' },
  to: { valid: 'new.db' },
  'token-url': { valid: 'URL', invalid: 'not an address' },
  'model-server': { valid: 'http://127.0.0.1:9/v1', invalid: 'not an address' },
  'model-server-key-file': { valid: 'key.txt', invalid: 'none.txt' },
  user: { valid: 'usr_admin', invalid: 'nobody@example.com', invalidEnds: [6] },
  version: { valid: 'v1' },
  wait: { valid: '1s', invalid: 'a while' },
}

/** By command and flag. An entry has priority over the entry by name. */
const byCommand: Record<string, FlagRow> = {
  'api data': { valid: '{"a":1}', invalid: '{' },
  'activity profile': { invalidEnds: [0] },
  'activity since': { base: 'activity' },
  'api include': { jsonEnds: [2] },
  'auth:list profile': { invalidEnds: [0] },
  'auth:login ci': { base: 'auth login --insecure-storage', ends: [2] },
  'auth:login credential-command': {
    valid: 'echo another-key',
    invalid: 'echo key | cat',
    base: 'auth login --no-verify',
  },
  'auth:login profile': {
    base: 'auth login --with-api-key --insecure-storage --no-verify',
    stdin: 'another-key\n',
    invalidEnds: [0, 3, 4],
  },
  'auth:login with-api-key': { base: 'auth login --insecure-storage', stdin: 'another-key\n' },
  'auth:logout all': { base: 'auth logout --yes' },
  'auth:logout yes': { base: 'auth logout --all' },
  'auth:refresh scope': { valid: 'chat:read' },
  'auth:remove profile': { invalidEnds: [0] },
  'auth:remove yes': { base: 'auth remove work' },
  'auth:rename profile': { invalidEnds: [0] },
  'auth:use profile': { invalidEnds: [0] },
  // Only for the history, and the call reads another path.
  'api paginate': { ends: [2] },
  'chat continue': { ends: [2] },
  'chat json': { refused: [2] },
  'chat no-input': { refused: [2] },
  'chat output': { valid: 'text', invalid: 'xml' },
  'chat resume': { ends: [0, 2], invalidEnds: [2, 6] },
  'chat:prompts:set file': { valid: 'review.md', invalid: 'none.md', base: 'chat prompts set review' },
  'chat:complete raw': { jsonEnds: [2] },
  'chat:send raw': { jsonEnds: [2] },
  'chat:complete extract': { valid: '2', ends: [1, 2] },
  'chat:complete var': { valid: 'a=b', ends: [2] },
  'chat:send extract': { valid: '2', ends: [1, 2] },
  'chat:send var': { valid: 'a=b', ends: [2] },
  'chat:complete file': { valid: 'messages.jsonl', invalid: 'none.jsonl' },
  'chat:send continue': { ends: [2] },
  'chat:send file': { valid: 'messages.jsonl', invalid: 'none.jsonl' },
  'chat:send stream': { base: 'chat send Hello' },
  'chat fork': { valid: '1', invalid: '99', base: 'chat --resume TRANSCRIPT', ends: [0, 2] },
  'chat:send attempts': { base: 'chat send Hello --schema {}', ends: [7] },
  'chat:send concurrency': { base: batch },
  'chat:send each': {
    valid: 'users.csv',
    invalid: 'none.csv',
    base: 'chat send {{email}} --results replies.jsonl --yes',
  },
  'chat:send format': { valid: 'csv', invalid: 'xml', base: batch },
  'chat:send on-not-whole': { valid: 'retry', invalid: 'skip', base: batch },
  'chat:send on-unknown': { valid: 'retry', invalid: 'created', base: batch },
  'chat:send quota': { base: batch },
  'chat:send restart': { base: batch },
  'chat:send results': {
    valid: 'replies.jsonl',
    invalid: 'replies.csv',
    invalidEnds: [2],
    base: 'chat send {{email}} --each users.csv --yes',
  },
  'chat:send schema': { valid: '{}', invalid: 'none.json', base: 'chat send Hello', ends: [7] },
  'chat:send skip-invalid': { base: batch },
  'chat:send yes': { base: batch.replace(' --yes', '') },
  'chat:show extract': { valid: '2', ends: [1, 2] },
  'chat:show last': { base: 'chat show', ends: [0, 6] },
  'chat:show reply': { ends: [6], jsonEnds: [2] },
  'chat:send stream-format': { base: 'chat send Hello' },
  'config:set profile': { invalidEnds: [0] },
  'history:export output': { valid: 'markdown', invalid: 'xml' },
  'history:export to': { valid: 'history.json', invalid: 'history.pdf', invalidEnds: [0, 2] },
  'settings:export to': { valid: 'settings.json', invalid: 'settings.pdf', invalidEnds: [0, 2] },
  'service:admin:create password-file': { base: 'service admin create ada@example.com' },
  'service:admin:create password-stdin': {
    base: 'service admin create ada@example.com',
    stdin: 'a long enough password\n',
  },
  'service:backup data': { ends: [6] },
  'service:backup database': { ends: [2] },
  'service:backup to': { base: 'service backup' },
  'service:keys:create limit': { base: 'service keys create --name ci --tier enterprise' },
  'service:keys:create name': { base: 'service keys create' },
  'service:keys:revoke data': { ends: [6] },
  'service:keys:revoke yes': { base: 'service keys revoke KEY' },
  'service:keys:rotate data': { ends: [6] },
  'service:keys:update data': { ends: [6] },
  'service:keys:update limit': { base: 'service keys update KEY --tier enterprise' },
  'service:keys:update name': { base: 'service keys update KEY' },
  'service:migrate data': { ends: [6] },
  'service:restore database': { ends: [2] },
  'service:restore yes': { base: 'service restore copy.db' },
  'service:run admin-port': { base: 'service run --port 0 --log-level warn' },
  'service:run fields': { valid: 'url' },
  'service:run log-level': { base: 'service run --port 0 --admin-port off' },
  'service:run port': { base: 'service run --admin-port off --log-level warn' },
  'service:run tls-cert': {
    base: 'service run --port 0 --admin-port off --log-level warn --tls-key tls.key',
  },
  'service:run tls-key': {
    base: 'service run --port 0 --admin-port off --log-level warn --tls-cert tls.crt',
  },
  'service:run model-server-key-file': {
    base: 'service run --port 0 --admin-port off --log-level warn --model-server http://127.0.0.1:9/v1',
  },
  'service:sessions:revoke data': { ends: [6] },
  'service:sessions:revoke yes': { base: 'service sessions revoke SESSION' },
  'service:trust:create expires': { valid: '5m', invalid: '2h' },
  'service:trust:create issuer': { valid: 'https://ci.example', invalid: 'http://ci.example' },
  'service:trust:create subject': { valid: 'repo:acme/app:**', invalid: '*' },
  'service:trust:create audience': { valid: 'https://chat.example' },
  'service:trust:create permission': { valid: 'read:chat', invalid: 'all' },
  'service:status ready': { ends: [69] },
  'service:trust:revoke data': { ends: [6] },
  'service:trust:revoke yes': { base: 'service trust revoke TRUST' },
  'service:users:delete data': { ends: [6] },
  'service:users:delete yes': { base: 'service users delete USER' },
  'service:users:disable data': { ends: [6] },
  'service:users:disable yes': { base: 'service users disable USER' },
  'service:users:enable data': { ends: [6] },
  'service:users:export data': { ends: [6] },
  'service:users:offboard data': { ends: [6] },
  'service:users:offboard export': { valid: 'user.json', base: 'service users offboard USER --yes' },
  'service:users:offboard yes': { base: 'service users offboard USER --export user.json' },
  'service:users:reset data': { ends: [6] },
  'service:users:reset keep-password': { base: 'service users reset usr_admin --yes' },
  'service:users:reset password-file': { base: 'service users reset usr_admin --yes' },
  'service:users:reset password-stdin': {
    base: 'service users reset usr_admin --yes',
    stdin: 'a long enough password\n',
  },
  'service:users:reset yes': { base: 'service users reset usr_admin --keep-password' },
  'service:users:show data': { ends: [6] },
  'settings:api:set file': { valid: 'api.yaml', invalid: 'none.yaml' },
  'settings:api:set rate-limiting': { base: 'settings api set --version v1' },
  'settings:apply file': { valid: 'settings.yaml', invalid: 'none.yaml', base: 'settings apply --yes' },
  'settings:apply yes': { base: 'settings apply settings.yaml' },
  'settings:diff exit-code': { ends: [10] },
  'settings:diff file': { valid: 'settings.yaml', invalid: 'none.yaml', base: 'settings diff' },
  'settings:diff seal': { base: 'settings diff settings.yaml --save plan.json --seal-key-file seal.key' },
  'settings:diff valid-for': { base: 'settings diff settings.yaml --save plan.json' },
  'settings:history service': { base: 'settings history --profile local' },
  'settings:history data': { base: 'settings history --service --profile local' },
  'settings:history database': { base: 'settings history --service --profile local', ends: [69] },
  'settings:revert seal': { base: 'settings revert CHANGE --save plan.json --seal-key-file seal.key' },
  'settings:revert valid-for': { base: 'settings revert CHANGE --save plan.json' },
  'users:diff seal': { base: 'users diff team.csv --save plan.json --seal-key-file seal.key' },
  'users:diff valid-for': { base: 'users diff team.csv --save plan.json' },
  'settings:edit yes': { base: 'settings edit' },
  'users:create allow-duplicates': { base: 'users create --generate-password' },
  'users:create email': { base: 'users create --generate-password' },
  'users:create generate-password': { base: 'users create' },
  'users:create no-password': { base: 'users create' },
  'users:create password-file': { base: 'users create' },
  'users:create password-stdin': { base: 'users create', stdin: 'a long enough password\n' },
  'users:adopt state': { base: 'users adopt ada@example.com=u1' },
  'users:apply file': {
    valid: 'team.csv',
    invalid: 'none.csv',
    base: 'users apply --yes',
    // The service does not change the name.
    ends: [7],
  },
  'users:apply no-password': { base: 'users apply users.csv --yes' },
  'users:apply password-command': {
    valid: 'echo a-long-enough-password',
    invalid: '"',
    base: 'users apply users.csv --yes',
  },
  'users:apply results': { base: 'users apply users.csv --yes' },
  'users:apply yes': { base: 'users apply users.csv --no-password' },
  'users:diff exit-code': { ends: [10] },
  'users:diff file': { valid: 'team.csv', invalid: 'none.csv', base: 'users diff' },
  'users:get state': { base: 'users get ada@example.com' },
  'users:import close': { ends: [2] },
  'users:import generate-passwords': { base: 'users import users.csv --yes --results results.csv' },
  'users:import id': { base: 'users import users.csv --yes --on-unknown created', ends: [0, 2] },
  'users:import line': { base: 'users import users.csv --yes --on-unknown skip', ends: [0, 2] },
  'users:import yes': { base: 'users import users.csv' },
  'users:permissions:assign close': { ends: [2] },
  'users:permissions:assign file': { valid: 'roles.csv', invalid: 'none.csv' },
  'users:permissions:assign role': { base: 'users permissions assign u1' },
  'users:state:forget state': { base: 'users state forget ada@example.com' },
  'users:settings:set theme': { base: 'users settings set' },
  'users:update name': { base: 'users update u1' },
}

/** By command and flag: the command line, the words that are added, and what they add to the request. */
const added: Record<string, [to: string, words: string | string[], Omit<Addition, 'to' | 'words'>]> = {
  'api header': [
    'api POST /x',
    ['-H', 'X-One: 1', '-H', 'X-Two: 2'],
    { headers: { 'x-one': '1', 'x-two': '2' } },
  ],
  'chat:complete max-tokens': ['chat complete x', '--max-tokens 5', { body: { max_tokens: 5 } }],
  'chat:complete model': ['chat complete x', '-m small', { body: { model: 'small' } }],
  'history:list before': ['history list', '--before m1', { query: 'before=m1' }],
  'history:list context': ['history list', ['--context', 'c 1'], { query: 'context_id=c+1' }],
  'history:list limit': ['history list', '-n 5', { query: 'limit=5' }],
  'settings:api:set allowed-method': [
    'settings api set --version v2',
    '--allowed-method GET',
    { body: { cors: { allowed_methods: ['GET'] } } },
  ],
  'settings:api:set allowed-origin': [
    'settings api set --version v2',
    '--allowed-origin https://a.example --allowed-origin https://b.example',
    { body: { cors: { allowed_origins: ['https://a.example', 'https://b.example'] } } },
  ],
  'settings:api:set requests-per-minute': [
    'settings api set --version v2',
    '--requests-per-minute 5',
    { body: { rate_limiting: { requests_per_minute: 5 } } },
  ],
  'settings:api:set version': [
    'settings api set --rate-limiting on',
    '--version v2',
    { body: { version: 'v2' } },
  ],
  'users:create metadata': [
    'users create --generate-password',
    '--metadata company=Acme --metadata seats:=5',
    { body: { metadata: { company: 'Acme', seats: 5 } } },
  ],
  'users:permissions:assign role': [
    'users permissions assign u1 a:b',
    '-r editor',
    { body: { role: 'editor' } },
  ],
  'users:settings:set language': [
    'users settings set --theme dark',
    '--language de',
    { body: { language: 'de' } },
  ],
  'users:settings:set notification': [
    'users settings set --theme dark',
    '--notification email=off --notification push=on',
    { body: { notifications: { email: false, push: true } } },
  ],
  'users:settings:set theme': [
    'users settings set --language de',
    '--theme dark',
    { body: { theme: 'dark' } },
  ],
  'users:update metadata': [
    'users update u1 --theme x',
    '--metadata a=b',
    { body: { metadata: { a: 'b' } } },
  ],
  'users:update name': ['users update u1 --theme x', '--name Ada', { body: { name: 'Ada' } }],
  'users:update notifications': [
    'users update u1 --name x',
    '--notifications off',
    { body: { settings: { notifications_enabled: false } } },
  ],
  'users:update theme': [
    'users update u1 --name x',
    '--theme dark',
    { body: { settings: { theme: 'dark' } } },
  ],
}

/** Flags that need a file with rows. */
const ofRows = 'users permissions assign --file roles.csv --yes'
for (const flag of ['format', 'skip-invalid', 'concurrency', 'quota', 'results', 'restart', 'close']) {
  rowOf('users:permissions:assign', flag).base = ofRows
}
rowOf('users:permissions:assign', 'file').base = 'users permissions assign --yes'
rowOf('users:permissions:assign', 'yes').base = 'users permissions assign --file roles.csv'

/** Required flags of a trust. */
const ofTrust = ['issuer', 'audience', 'subject', 'permission']
const trustWithout = (flag: string) =>
  ofTrust
    .filter((name) => name !== flag)
    .reduce(
      (line, name) => `${line} --${name} ${rowOf('service:trust:create', name).valid}`,
      'service trust create new',
    )
for (const flag of ofTrust) rowOf('service:trust:create', flag).base = trustWithout(flag)
rowOf('service:trust:create', 'limit').base = `${trustWithout('')} --tier enterprise`

/** Flags of the sign-in with a browser, which no user completes. */
const byBrowser = ['--auth-url URL', '--token-url URL', '--client-id chatctl', '--wait 1s', '--no-browser']
const ofBrowser = ['web', 'browser', 'pkce', 'wait', 'auth-url', 'client-id', 'token-url', 'scope']
for (const flag of [...ofBrowser, 'redirect-host', 'redirect-port', 'redirect-path']) {
  const given = byBrowser.filter((words) => !words.replace(/^--no-/, '--').startsWith(`--${flag}`))
  const row = rowOf('auth:login', flag)
  row.base = ['auth login --insecure-storage', ...given].join(' ')
  row.ends = [3, 4, 130]
}

const onDevice = 'auth login --insecure-storage --auth-url URL --client-id chatctl --wait 1s'
// The server of the matrix does not offer it.
Object.assign(rowOf('auth:login', 'device'), { base: onDevice, ends: [2] })
Object.assign(rowOf('auth:login', 'qr'), { base: `${onDevice} --device`, ends: [2] })

/** The row of a flag of one command. Creates the row if it does not exist. */
function rowOf(command: string, flag: string): FlagRow {
  const key = `${command} ${flag}`
  const row = byCommand[key] ?? {}
  byCommand[key] = row
  return row
}

/** The row of a flag of a command, with defaults from the row of the name, and from that of the placeholder. */
export function findFlag(command: string, flag: string): FlagRow {
  const placeholder = commands.find(({ id }) => id === command)?.flags[flag]?.helpValue ?? ''
  return { ...byPlaceholder[placeholder], ...byName[flag], ...byCommand[`${command} ${flag}`] }
}

/** All additions to requests, named by command and flag. */
export const additions: readonly (Addition & { name: string })[] = Object.entries(added).map(
  ([name, [to, words, rest]]) => ({
    name,
    to,
    words: typeof words === 'string' ? words.split(' ') : words,
    ...rest,
  }),
)
