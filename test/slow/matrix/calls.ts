import { commandOf, localCalls, type ServiceCall, serviceCalls } from '../../support/command-lines.ts'
import { commands } from '../../support/manifest.ts'
import { sentEnds } from '../../support/reply-endings.ts'
import type { Form } from './forms.ts'

/** A call that succeeds in a prepared home (prepared-home.ts), with the service that the home names. */
export interface Call {
  /** Command id, followed by a space and a distinction if the command has several calls. */
  name: string
  /** KEY, SESSION, TRUST, and TRANSCRIPT are replaced by ids of the prepared home. */
  args: readonly string[]
  stdin?: string
  /** Exit code if nothing is wrong. */
  fine: Record<Form, number>
  /** Output after which a call that does not end by itself is stopped. */
  until?: RegExp
  /** Text that a user types into the session. */
  typed?: string
  /** Set if the call sends requests to a service, and lists them. */
  service?: ServiceCall
}

const fine: Record<Form, number> = { terminal: 0, pipe: 0, JSON: 0 }

/** What a call of another test needs in order to succeed here. */
const prepared: Record<string, Partial<Call>> = {
  'auth:login': { stdin: 'another-key\n' },
  // The profile has an API key.
  'auth:refresh': { args: ['auth', 'refresh'], fine: { terminal: 2, pipe: 2, JSON: 2 } },
  // In a pipe, no user types.
  chat: { args: ['chat'], typed: '\u0004', fine: { terminal: 0, pipe: 2, JSON: 2 } },
  'chat:delete': { args: ['chat', 'delete', 'TRANSCRIPT', '--yes'] },
  'chat:prompts:delete': { args: ['chat', 'prompts', 'delete', 'review', '--yes'] },
  'chat:rename': { args: ['chat', 'rename', 'TRANSCRIPT', 'trip'] },
  'chat:show': { args: ['chat', 'show', 'TRANSCRIPT'] },
  'config:get': { args: ['config', 'get', 'base_url'] },
  'config:seal-key': { args: ['config', 'seal-key'] },
  // A program that Windows has, too.
  exec: { args: ['exec', '--', 'hostname'] },
  'plan:approve': {
    args: ['plan', 'approve', 'settings.yaml', '--key', 'key.txt', '--yes'],
    fine: { terminal: 2, pipe: 2, JSON: 2 },
  },
  'service:admin:create': {
    args: ['service', 'admin', 'create', 'ada@example.com', '--password-stdin'],
    stdin: 'a long enough password\n',
  },
  'service:backup': { args: ['service', 'backup', '--to', 'new.db'] },
  'service:keys:revoke': { args: ['service', 'keys', 'revoke', 'KEY', '--yes'] },
  'service:keys:rotate': { args: ['service', 'keys', 'rotate', 'KEY'] },
  'service:keys:update': { args: ['service', 'keys', 'update', 'KEY', '--name', 'x'] },
  'service:sessions:revoke': { args: ['service', 'sessions', 'revoke', 'SESSION', '--yes'] },
  'service:trust:revoke': { args: ['service', 'trust', 'revoke', 'TRUST', '--yes'] },
  'service:users:reset': {
    args: ['service', 'users', 'reset', 'usr_admin', '--password-stdin', '--yes'],
    stdin: 'a long enough password\n',
  },
  'service:users:delete': { args: ['service', 'users', 'delete', 'USER', '--yes'] },
  'service:migrate': { args: ['service', 'migrate'] },
  'service:users:disable': { args: ['service', 'users', 'disable', 'USER', '--yes'] },
  'service:users:enable': { args: ['service', 'users', 'enable', 'USER'] },
  'service:users:export': { args: ['service', 'users', 'export', 'USER'] },
  'service:users:offboard': {
    args: ['service', 'users', 'offboard', 'USER', '--export', 'user.json', '--yes'],
  },
  'service:users:show': { args: ['service', 'users', 'show', 'USER'] },
  // The editor changes nothing.
  'settings:edit': { args: ['settings', 'edit', '--yes'] },
  'settings:revert': { args: ['settings', 'revert', 'CHANGE'] },
  'users:adopt': { args: ['users', 'adopt', 'ada@example.com=u1'] },
  'users:apply': { args: ['users', 'apply', 'users.csv', '--no-password', '--yes'] },
  'users:diff': { args: ['users', 'diff', 'team.csv'] },
  'users:import': { args: ['users', 'import', 'users.csv', '--yes'] },
  'users:state:forget': {
    args: ['users', 'state', 'forget', 'ada@example.com', '--state', 'team.state.json'],
  },
  'users:state:merge': { args: ['users', 'state', 'merge', 'team.state.json', 'team.state.json'] },
}

const more: readonly Call[] = [
  {
    name: 'service:run',
    args: ['service', 'run', '--port', '0', '--admin-port', 'off', '--log-level', 'warn'],
    until: /https?:\/\/[\d.]+:\d+/,
    fine,
  },
  { name: 'users:get of many', args: ['users', 'get', 'u1', 'u2'], fine },
  { name: 'users:list of a state file', args: ['users', 'list', '--state', 'team.state.json'], fine },
  {
    name: 'users:apply without a difference',
    args: ['users', 'apply', 'users.csv', '--state', 'team.state.json', '--yes'],
    fine,
  },
  {
    name: 'users:permissions:assign of a file',
    args: ['users', 'permissions', 'assign', '--file', 'roles.csv', '--yes'],
    fine,
  },
  { name: 'history:export to a file', args: ['history', 'export', '--to', 'history.json'], fine },
  { name: 'settings:diff of a file', args: ['settings', 'diff', 'settings.yaml'], fine },
  { name: 'settings:apply of a file', args: ['settings', 'apply', 'settings.yaml', '--yes'], fine },
  { name: 'settings:api:set of a file', args: ['settings', 'api', 'set', '--file', 'api.yaml'], fine },
  {
    name: 'users:create with a file',
    args: [
      'users',
      'create',
      '--email',
      'ada@example.com',
      '--password-file',
      'password.txt',
      '--allow-duplicates',
    ],
    fine,
  },
  {
    name: 'chat:complete of messages',
    args: ['chat', 'complete', 'x', '--messages', 'messages.jsonl'],
    fine,
  },
  {
    name: 'auth:login that asks the service',
    args: ['auth', 'login', '--with-api-key', '--insecure-storage'],
    stdin: 'another-key\n',
    fine,
  },
]

/** The calls that print a reply, whole and streamed, with each end of it. */
const endCalls: readonly Call[] = Object.entries(sentEnds).flatMap(([end, [, , code]]) =>
  serviceCalls
    .filter(({ name }) => /^chat:(send|complete)\b/.test(name))
    .map((service) => ({
      service,
      name: `${service.name} that ends: ${end}`,
      args: service.args.map((word) => (word === 'Hello' ? `wants ${end}` : word)),
      fine: { terminal: code, pipe: code, JSON: code },
    })),
)

/** At least one call of every command. */
export const calls: readonly Call[] = [
  ...serviceCalls.map((service) => ({ ...service, fine, service })),
  ...localCalls.map(({ name, args }) => ({ name, args, fine, ...prepared[name] })),
  ...more,
  ...endCalls,
]

/** The first call of a command, to which its flags are added. */
export function callOf(command: string): Call {
  const found = calls.find(({ name }) => commandOf(name) === command)
  if (!found) throw new Error(`no call of ${command}`)
  return found
}

export function callNamed(name: string): Call {
  const found = calls.find((call) => call.name === name)
  if (!found) throw new Error(`no call ${name}`)
  return found
}

/** Commands of the manifest that have no call. */
export const uncalled: readonly string[] = commands
  .map(({ id }) => id)
  .filter((id) => !calls.some(({ name }) => commandOf(name) === id))

/** Commands whose output is for a shell or for a user in a terminal, and is never JSON. */
const textAlone = new Set(['chat', 'complete', 'autocomplete', 'exec'])

/** The arguments of a call in one form. */
export function wordsFor({ name, args }: Call, form: Form): string[] {
  const command = commandOf(name)
  return form === 'JSON' && command !== 'complete' && command !== 'autocomplete'
    ? withFlags(args, ['--json'])
    : [...args]
}

/** Adds flags at the end, or before the program of `exec`. */
export function withFlags(args: readonly string[], flags: readonly string[]): string[] {
  const end = args.includes('--') ? args.indexOf('--') : args.length
  return [...args.slice(0, end), ...flags, ...args.slice(end)]
}

/** Whether the call writes JSON if the form is JSON. */
export function answersInJson({ name, args }: Call): boolean {
  return (
    !textAlone.has(commandOf(name)) && !(/^(history|settings):export/.test(name) && args.includes('--to'))
  )
}
