import { commands, exampleWords } from './manifest.ts'

/** A call of a command that contacts the service, and a valid response. */
export interface ServiceCall {
  /** Command ID, and after a space a word that distinguishes calls of one command. */
  name: string
  args: readonly string[]
  stdin?: string
  /** An endpoint of docs/interface.md, "Endpoints", with its placeholders replaced. */
  endpoint: `${'GET' | 'POST' | 'PUT' | 'PATCH'} /${string}`
  /** Whether the interface shows the response. */
  shown: boolean
  /** A response body that the interface allows, with one unknown field. */
  answer: unknown
  /** Whether the call prints only JSON output, and no text. */
  printsNothing?: true
  /** A request after the first, usually to verify the change. It gets the same response. */
  readsBack?: `GET /${string}`
}

const user = {
  id: 'u1',
  email: 'ada@example.com',
  name: 'Ada',
  created_at: '2026-01-02T03:04:05Z',
  metadata: { company: 'Acme' },
  settings: { theme: 'dark', notifications_enabled: true },
  x_extra: 1,
}
const profile = {
  id: 'u1',
  email: 'ada@example.com',
  name: 'Ada',
  created_at: '2026-01-02T03:04:05Z',
  preferences: { language: 'en' },
  x_extra: 1,
}
const settings = {
  app_name: 'Chat',
  theme: { primary_color: '#112233', mode: 'dark' },
  features: { chat: true, file_upload: false, code_completion: true },
  limits: { max_tokens: 4096, max_requests_per_min: 60 },
  x_extra: 1,
}
const sent = {
  id: 'm1',
  response: 'Hello yourself',
  context_id: 'c1',
  created_at: '2026-01-02T03:04:05Z',
  x_extra: 1,
}

/** Words that create a user who can be removed in the embedded service, and print the ID. */
export const creatingGrace = [
  ...['api', 'POST', '/v1/users', '--profile', 'local', '--jq', '.id', '--data'],
  JSON.stringify({ email: 'grace@example.com', password: 'a long enough password' }),
]

/** The arguments of a call as one line. */
type CallRow = [
  line: string,
  endpoint: ServiceCall['endpoint'],
  answer: unknown,
  more?: Partial<Pick<ServiceCall, 'stdin' | 'printsNothing' | 'readsBack'>> & { shown?: false },
]

const calls: Record<string, CallRow> = {
  'chat:send': ['chat send Hello --no-stream', 'POST /api/chat/send', sent],
  'chat:send streamed': ['chat send Hello --stream', 'POST /api/chat/send', sent],
  'chat:complete': [
    'chat complete Hello',
    'POST /v1/chat/completions',
    {
      id: 'cmpl1',
      object: 'chat.completion',
      created: 1767323045,
      model: 'small',
      usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
      choices: [{ message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop', index: 0 }],
      x_extra: 1,
    },
  ],
  'chat:models': [
    'chat models',
    'GET /v1/chat/models',
    { data: [{ id: 'small', created: 1767323045, object: 'model', owned_by: 'us' }], x_extra: 1 },
  ],
  'history:list': [
    'history list',
    'GET /api/chat/history',
    {
      messages: [{ id: 'm1', content: 'Hello', role: 'user', created_at: '2026-01-02T03:04:05Z' }],
      has_more: false,
      x_extra: 1,
    },
  ],
  'history:export': [
    'history export',
    'GET /api/chat/history',
    {
      messages: [
        { id: 'm1', content: 'Hello', role: 'user', created_at: '2026-01-02T03:04:05Z', x_extra: 1 },
      ],
      has_more: false,
    },
  ],
  'settings:get': ['settings get', 'GET /v1/settings', settings],
  'settings:get of a key': ['settings get theme.mode', 'GET /v1/settings', settings],
  'settings:export': ['settings export', 'GET /v1/settings', settings],
  'settings:diff': ['settings diff -', 'GET /v1/settings', settings, { stdin: 'theme: { mode: light }' }],
  'settings:apply with nothing to do': [
    'settings apply - --yes --quiet',
    'GET /v1/settings',
    settings,
    { stdin: 'theme: { mode: dark }', printsNothing: true },
  ],
  'settings:set': [
    'settings set theme.mode=dark',
    'PATCH /v1/settings',
    settings,
    { shown: false, readsBack: 'GET /v1/settings' },
  ],
  'settings:preferences': [
    'settings preferences',
    'GET /v1/settings/preferences',
    {
      language: 'en',
      timezone: 'UTC',
      notifications: { email: true, push: false },
      display: { theme: 'dark', font_size: 'large' },
      x_extra: 1,
    },
  ],
  'settings:api:set': [
    'settings api set --rate-limiting on',
    'POST /v1/settings/api',
    { version: 'v1', rate_limiting: { enabled: true, requests_per_minute: 60 }, x_extra: 1 },
    { shown: false },
  ],
  'users:create': [
    'users create --email ada@example.com --password-stdin --allow-duplicates',
    'POST /v1/users',
    user,
    { stdin: 'a long enough password\n', shown: false },
  ],
  'users:get': ['users get u1', 'GET /v1/users/u1', user],
  'users:update': ['users update u1 --name Ada', 'PATCH /v1/users/u1', user, { shown: false }],
  'users:permissions:assign': [
    'users permissions assign u1 read:chat',
    'POST /v1/users/u1/permissions',
    { id: 'u1', permissions: ['read:chat'], role: 'editor', x_extra: 1 },
    { shown: false },
  ],
  'users:profile': ['users profile', 'GET /api/user/profile', profile],
  'users:settings:set': [
    'users settings set --theme dark',
    'PUT /api/user/settings',
    { success: true, settings: { theme: 'dark' }, x_extra: 1 },
    { shown: false },
  ],
  'auth:status': ['auth status', 'GET /api/user/profile', profile],
  doctor: ['doctor', 'GET /api/user/profile', profile, { readsBack: 'GET /v1/chat/models' }],
  api: ['api GET /v1/new', 'GET /v1/new', { a: [1] }, { shown: false }],
  'api with a body': ['api POST /v1/new --field a=b', 'POST /v1/new', { a: [1] }, { shown: false }],
}

export const serviceCalls: readonly ServiceCall[] = Object.entries(calls).map(
  ([name, [line, endpoint, answer, { shown = true, ...more } = {}]]) => ({
    name,
    args: line.split(' '),
    endpoint,
    answer,
    shown,
    ...more,
  }),
)

type LocalCall = Pick<ServiceCall, 'name' | 'args'>

/** Calls of commands whose first example does not end by itself, needs a service, or is not suitable. */
const otherCalls: readonly LocalCall[] = Object.entries({
  'auth:login': 'auth login --profile work --with-api-key --insecure-storage --no-verify',
  'auth:logout': 'auth logout --all --yes',
  'auth:refresh': 'auth refresh --profile local',
  'auth:remove': 'auth remove work --yes',
  'auth:rename': 'auth rename work acme',
  'auth:token': 'auth token',
  'auth:use': 'auth use local',
  autocomplete: 'autocomplete bash',
  'chat:delete': 'chat delete s2026 --yes',
  'chat:rename': 'chat rename s2026 trip',
  'chat:sessions': 'chat sessions --all',
  'chat:show': 'chat show s2026',
  complete: 'complete -- set',
  'config:get': 'config get model',
  'config:set': 'config set model small',
  'config:unset': 'config unset model',
  'service:admin:create': 'service admin create ada@example.com',
  'service:audit': 'service audit',
  'service:backup': 'service backup --to copy.db',
  'service:restore': 'service restore copy.db --yes',
  'service:users:delete': 'service users delete usr_1 --yes',
  'service:migrate': 'service migrate',
  'service:users:disable': 'service users disable usr_1 --yes',
  'service:users:enable': 'service users enable usr_1',
  'service:users:export': 'service users export usr_1',
  'service:users:offboard': 'service users offboard usr_1 --export user.json --yes',
  'service:users:reset': 'service users reset usr_admin --yes',
  'service:users:show': 'service users show usr_1',
  'service:keys:create': 'service keys create --name ci',
  'service:keys:revoke': 'service keys revoke key_1 --yes',
  'service:keys:rotate': 'service keys rotate key_1',
  'service:keys:update': 'service keys update key_1 --name x',
  'service:sessions:revoke': 'service sessions revoke ses_1 --yes',
  'service:trust:revoke': 'service trust revoke deploy --yes',
  'users:apply': 'users apply no-such-file.csv --yes',
  'users:import': 'users import no-such-file.csv --yes',
}).map(([name, line]) => ({ name, args: line.split(' ') }))

/** The command of a call. */
export function commandOf(name: string): string {
  return name.split(' ')[0] ?? ''
}

const otherwiseCalled = new Set([...serviceCalls, ...otherCalls].map(({ name }) => commandOf(name)))

/** Calls of all commands that need no service and end by themselves. */
export const localCalls: readonly LocalCall[] = [
  ...otherCalls,
  ...commands
    // `service run` does not end by itself.
    .filter(({ id }) => !otherwiseCalled.has(id) && id !== 'service:run')
    .flatMap((command) =>
      exampleWords(command)
        .slice(0, 1)
        .map((args) => ({ name: command.id, args })),
    ),
]
