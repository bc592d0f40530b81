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

/** A call by its name, with its arguments as one line. */
type CallRow = Omit<ServiceCall, 'name' | 'args' | 'shown'> & { line: string; shown?: false }

const calls: Record<string, CallRow> = {
  'chat:send': { line: 'chat send Hello --no-stream', endpoint: 'POST /api/chat/send', answer: sent },
  'chat:send streamed': { line: 'chat send Hello --stream', endpoint: 'POST /api/chat/send', answer: sent },
  'chat:complete': {
    line: 'chat complete Hello',
    endpoint: 'POST /v1/chat/completions',
    answer: {
      id: 'cmpl1',
      object: 'chat.completion',
      created: 1767323045,
      model: 'small',
      usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
      choices: [{ message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop', index: 0 }],
      x_extra: 1,
    },
  },
  'chat:models': {
    line: 'chat models',
    endpoint: 'GET /v1/chat/models',
    answer: { data: [{ id: 'small', created: 1767323045, object: 'model', owned_by: 'us' }], x_extra: 1 },
  },
  'history:list': {
    line: 'history list',
    endpoint: 'GET /api/chat/history',
    answer: {
      messages: [{ id: 'm1', content: 'Hello', role: 'user', created_at: '2026-01-02T03:04:05Z' }],
      has_more: false,
      x_extra: 1,
    },
  },
  'history:export': {
    line: 'history export',
    endpoint: 'GET /api/chat/history',
    answer: {
      messages: [
        { id: 'm1', content: 'Hello', role: 'user', created_at: '2026-01-02T03:04:05Z', x_extra: 1 },
      ],
      has_more: false,
    },
  },
  'settings:get': { line: 'settings get', endpoint: 'GET /v1/settings', answer: settings },
  'settings:get of a key': {
    line: 'settings get theme.mode',
    endpoint: 'GET /v1/settings',
    answer: settings,
  },
  'settings:export': { line: 'settings export', endpoint: 'GET /v1/settings', answer: settings },
  'settings:diff': {
    line: 'settings diff -',
    stdin: 'theme: { mode: light }',
    endpoint: 'GET /v1/settings',
    answer: settings,
  },
  'settings:apply with nothing to do': {
    line: 'settings apply - --yes --quiet',
    stdin: 'theme: { mode: dark }',
    endpoint: 'GET /v1/settings',
    answer: settings,
    printsNothing: true,
  },
  'settings:set': {
    line: 'settings set theme.mode=dark',
    endpoint: 'PATCH /v1/settings',
    shown: false,
    answer: settings,
    readsBack: 'GET /v1/settings',
  },
  'settings:preferences': {
    line: 'settings preferences',
    endpoint: 'GET /v1/settings/preferences',
    answer: {
      language: 'en',
      timezone: 'UTC',
      notifications: { email: true, push: false },
      display: { theme: 'dark', font_size: 'large' },
      x_extra: 1,
    },
  },
  'settings:api:set': {
    line: 'settings api set --rate-limiting on',
    endpoint: 'POST /v1/settings/api',
    shown: false,
    answer: { version: 'v1', rate_limiting: { enabled: true, requests_per_minute: 60 }, x_extra: 1 },
  },
  'users:create': {
    line: 'users create --email ada@example.com --password-stdin',
    stdin: 'a long enough password\n',
    endpoint: 'POST /v1/users',
    shown: false,
    answer: user,
  },
  'users:get': { line: 'users get u1', endpoint: 'GET /v1/users/u1', answer: user },
  'users:update': {
    line: 'users update u1 --name Ada',
    endpoint: 'PATCH /v1/users/u1',
    shown: false,
    answer: user,
  },
  'users:permissions:assign': {
    line: 'users permissions assign u1 read:chat',
    endpoint: 'POST /v1/users/u1/permissions',
    shown: false,
    answer: { id: 'u1', permissions: ['read:chat'], role: 'editor', x_extra: 1 },
  },
  'users:profile': { line: 'users profile', endpoint: 'GET /api/user/profile', answer: profile },
  'users:settings:set': {
    line: 'users settings set --theme dark',
    endpoint: 'PUT /api/user/settings',
    shown: false,
    answer: { success: true, settings: { theme: 'dark' }, x_extra: 1 },
  },
  'auth:status': { line: 'auth status', endpoint: 'GET /api/user/profile', answer: profile },
  doctor: {
    line: 'doctor',
    endpoint: 'GET /api/user/profile',
    answer: profile,
    readsBack: 'GET /v1/chat/models',
  },
  api: { line: 'api GET /v1/new', endpoint: 'GET /v1/new', shown: false, answer: { a: [1] } },
  'api with a body': {
    line: 'api POST /v1/new --field a=b',
    endpoint: 'POST /v1/new',
    shown: false,
    answer: { a: [1] },
  },
}

export const serviceCalls: readonly ServiceCall[] = Object.entries(calls).map(
  ([name, { line, shown = true, ...call }]) => ({ name, args: line.split(' '), shown, ...call }),
)

type LocalCall = Pick<ServiceCall, 'name' | 'args'>

/** Calls of commands whose first example does not end by itself, needs a service, or is not suitable. */
const otherCalls: readonly LocalCall[] = [
  {
    name: 'auth:login',
    args: ['auth', 'login', '--profile', 'work', '--with-api-key', '--insecure-storage', '--no-verify'],
  },
  { name: 'auth:logout', args: ['auth', 'logout', '--all', '--yes'] },
  { name: 'auth:refresh', args: ['auth', 'refresh', '--profile', 'local'] },
  { name: 'auth:remove', args: ['auth', 'remove', 'work', '--yes'] },
  { name: 'auth:rename', args: ['auth', 'rename', 'work', 'acme'] },
  { name: 'auth:token', args: ['auth', 'token'] },
  { name: 'auth:use', args: ['auth', 'use', 'local'] },
  { name: 'autocomplete', args: ['autocomplete', 'bash'] },
  { name: 'chat:delete', args: ['chat', 'delete', 's2026', '--yes'] },
  { name: 'chat:rename', args: ['chat', 'rename', 's2026', 'trip'] },
  { name: 'chat:sessions', args: ['chat', 'sessions', '--all'] },
  { name: 'chat:show', args: ['chat', 'show', 's2026'] },
  { name: 'complete', args: ['complete', '--', 'set'] },
  { name: 'config:get', args: ['config', 'get', 'model'] },
  { name: 'config:set', args: ['config', 'set', 'model', 'small'] },
  { name: 'config:unset', args: ['config', 'unset', 'model'] },
  { name: 'service:admin:create', args: ['service', 'admin', 'create', 'ada@example.com'] },
  { name: 'service:audit', args: ['service', 'audit'] },
  { name: 'service:backup', args: ['service', 'backup', '--to', 'copy.db'] },
  { name: 'service:restore', args: ['service', 'restore', 'copy.db', '--yes'] },
  { name: 'service:users:delete', args: ['service', 'users', 'delete', 'usr_1', '--yes'] },
  { name: 'service:migrate', args: ['service', 'migrate'] },
  { name: 'service:users:disable', args: ['service', 'users', 'disable', 'usr_1', '--yes'] },
  { name: 'service:users:enable', args: ['service', 'users', 'enable', 'usr_1'] },
  { name: 'service:users:export', args: ['service', 'users', 'export', 'usr_1'] },
  {
    name: 'service:users:offboard',
    args: ['service', 'users', 'offboard', 'usr_1', '--export', 'user.json', '--yes'],
  },
  { name: 'service:users:reset', args: ['service', 'users', 'reset', 'usr_admin', '--yes'] },
  { name: 'service:users:show', args: ['service', 'users', 'show', 'usr_1'] },
  { name: 'service:keys:create', args: ['service', 'keys', 'create', '--name', 'ci'] },
  { name: 'service:keys:revoke', args: ['service', 'keys', 'revoke', 'key_1', '--yes'] },
  { name: 'service:keys:rotate', args: ['service', 'keys', 'rotate', 'key_1'] },
  { name: 'service:keys:update', args: ['service', 'keys', 'update', 'key_1', '--name', 'x'] },
  { name: 'service:sessions:revoke', args: ['service', 'sessions', 'revoke', 'ses_1', '--yes'] },
  { name: 'service:trust:revoke', args: ['service', 'trust', 'revoke', 'deploy', '--yes'] },
  { name: 'users:apply', args: ['users', 'apply', 'no-such-file.csv', '--yes'] },
  { name: 'users:import', args: ['users', 'import', 'no-such-file.csv', '--yes'] },
]

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
