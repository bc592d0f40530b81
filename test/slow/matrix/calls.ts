import { commandOf, localCalls, type ServiceCall, serviceCalls } from '../../support/command-lines.ts'
import { commands } from '../../support/manifest.ts'
import type { Form } from './forms.ts'

/** A call that succeeds in a prepared home (prepared-home.ts), with the service that it names. */
export interface Call {
  /** Command id, and after a space what sets this call apart. */
  name: string
  /** KEY, SESSION and TRANSCRIPT stand for ids that the prepared home has. */
  args: readonly string[]
  stdin?: string
  /** What it ends in where all is well. */
  fine: Record<Form, number>
  /** Runs until it is stopped, which is when it has said so much. */
  until?: RegExp
  /** What a person types into the session. */
  typed?: string
  /** For those that talk to a service and whose requests are written down. */
  service?: ServiceCall
}

const fine: Record<Form, number> = { terminal: 0, pipe: 0, JSON: 0 }

/** What a call of another test needs to succeed here. */
const prepared: Record<string, Partial<Call>> = {
  'auth:login': { stdin: 'another-key\n' },
  // Nobody sits at the other end of a pipe.
  chat: { args: ['chat'], typed: '\u0004', fine: { terminal: 0, pipe: 2, JSON: 2 } },
  'chat:show': { args: ['chat', 'show', 'TRANSCRIPT'] },
  'config:get': { args: ['config', 'get', 'base_url'] },
  'service:admin:create': {
    args: ['service', 'admin', 'create', 'ada@example.com', '--password-stdin'],
    stdin: 'a long enough password\n',
  },
  'service:backup': { args: ['service', 'backup', '--to', 'new.db'] },
  'service:keys:revoke': { args: ['service', 'keys', 'revoke', 'KEY', '--yes'] },
  'service:keys:update': { args: ['service', 'keys', 'update', 'KEY', '--name', 'x'] },
  'service:sessions:revoke': { args: ['service', 'sessions', 'revoke', 'SESSION', '--yes'] },
  'service:users:reset': {
    args: ['service', 'users', 'reset', 'usr_admin', '--password-stdin'],
    stdin: 'a long enough password\n',
  },
  // The editor changes nothing.
  'settings:edit': { args: ['settings', 'edit', '--yes'] },
  'users:import': { args: ['users', 'import', 'users.csv', '--yes'] },
}

const more: readonly Call[] = [
  {
    name: 'service:run',
    args: ['service', 'run', '--port', '0', '--admin-port', 'off', '--log-level', 'warn'],
    until: /https?:\/\/[\d.]+:\d+/,
    fine,
  },
  { name: 'users:get of many', args: ['users', 'get', 'u1', 'u2'], fine },
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
    args: ['users', 'create', '--email', 'ada@example.com', '--password-file', 'password.txt'],
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

/** At least one call of every command. */
export const calls: readonly Call[] = [
  ...serviceCalls.map((service) => ({ ...service, fine, service })),
  ...localCalls.map(({ name, args }) => ({ name, args, fine, ...prepared[name] })),
  ...more,
]

/** The first call of a command, which its flags are added to. */
export function callOf(command: string): Call {
  const found = calls.find(({ name }) => commandOf(name) === command)
  if (!found) throw new Error(`no call of ${command}`)
  return found
}

/** Commands of the manifest that no call is of. */
export const uncalled: readonly string[] = commands
  .map(({ id }) => id)
  .filter((id) => !calls.some(({ name }) => commandOf(name) === id))

/** Commands whose output is what a shell or a person at a terminal reads, and never JSON. */
const textAlone = new Set(['chat', 'complete', 'autocomplete'])

/** The words of a call in one form. */
export function wordsFor({ name, args }: Call, form: Form): string[] {
  const command = commandOf(name)
  return form === 'JSON' && command !== 'complete' && command !== 'autocomplete'
    ? [...args, '--json']
    : [...args]
}

/** Whether the answer of a call is JSON where JSON was asked for. */
export function answersInJson({ name, args }: Call): boolean {
  return !textAlone.has(commandOf(name)) && !(name.startsWith('history:export') && args.includes('--to'))
}
