import { type EndpointName, endpoints } from '../src/contract/endpoints.ts'

/** What a command asks of the service, in the order in which it does; words where that is not all. */
interface Requests {
  of?: readonly EndpointName[]
  words?: string
}

const here = 'none; it works on this machine.'
const ownData = "none; it goes to the service's data, on the machine of the service."

/** A row for every command that is shown. */
const requests: Record<string, Requests> = {
  api: { words: 'the one that you name.' },
  'auth:list': { words: here },
  'auth:login': { of: ['getProfile'], words: 'and, through the browser, what OAuth needs.' },
  'auth:logout': { words: 'none of the service; a token is revoked at its authorization server.' },
  'auth:status': { of: ['getProfile'] },
  'auth:token': { words: 'none of the service; a token that is about to expire is renewed.' },
  'auth:use': { words: here },
  autocomplete: { words: here },
  chat: { of: ['sendMessage', 'createCompletion', 'listHistory', 'listModels'] },
  'chat:complete': { of: ['createCompletion'] },
  'chat:models': { of: ['listModels'] },
  'chat:send': { of: ['sendMessage'] },
  'chat:sessions': { words: here },
  'chat:show': { words: here },
  'config:get': { words: here },
  'config:list': { words: here },
  'config:path': { words: here },
  'config:set': { words: here },
  'config:unset': { words: here },
  doctor: { of: ['getProfile', 'listModels'] },
  'history:export': { of: ['listHistory'], words: 'page by page.' },
  'history:list': { of: ['listHistory'] },
  'service:admin:create': { words: ownData },
  'service:audit': { words: ownData },
  'service:backup': { words: ownData },
  'service:keys:create': { words: ownData },
  'service:keys:list': { words: ownData },
  'service:keys:revoke': { words: ownData },
  'service:keys:update': { words: ownData },
  'service:restore': { words: ownData },
  'service:run': { words: 'none; it answers them.' },
  'service:sessions:list': { words: ownData },
  'service:users:list': { words: ownData },
  'service:sessions:revoke': { words: ownData },
  'service:status': { words: '`GET /readyz` of the running service.' },
  'service:users:reset': { words: ownData },
  'settings:api:set': { of: ['setApiConfiguration'] },
  'settings:apply': {
    of: ['getSettings', 'updateSettings', 'setApiConfiguration'],
    words: 'and reads back.',
  },
  'settings:diff': { of: ['getSettings'] },
  'settings:edit': { of: ['getSettings', 'updateSettings', 'setApiConfiguration'], words: 'and reads back.' },
  'settings:export': { of: ['getSettings'] },
  'settings:get': { of: ['getSettings'] },
  'settings:preferences': { of: ['getPreferences'] },
  'settings:schema': { words: here },
  'settings:set': { of: ['updateSettings', 'getSettings'] },
  'users:create': { of: ['createUser'] },
  'users:get': { of: ['getUser'] },
  'users:import': { of: ['getProfile', 'createUser', 'updateUser', 'assignPermissions'] },
  'users:permissions:assign': {
    of: ['assignPermissions'],
    words: 'and with `--file` one more to see the quota.',
  },
  'users:profile': { of: ['getProfile'] },
  'users:settings:set': { of: ['updateUserSettings'] },
  'users:update': { of: ['updateUser'] },
}

/** The requests of a command in Markdown. @throws where a new command has no row */
export function describeRequests(id: string): string {
  const known = requests[id]
  if (known === undefined) throw new Error(`scripts/command-requests.ts has no row for ${id}`)
  const names = (known.of ?? []).map(endpointOf).map((endpoint) => `\`${endpoint}\``)
  return [names.join(', '), known.words].filter(Boolean).join(', ').replace(/\.?$/, '.')
}

/** `POST /v1/users/{id}/permissions` and the like, of one command. */
export function requestsOf(id: string): readonly string[] {
  return (requests[id]?.of ?? []).map(endpointOf)
}

/** The commands that have a row. */
export const describedCommands: readonly string[] = Object.keys(requests)

function endpointOf(name: EndpointName): string {
  const { method, path } = endpoints[name]
  return `${method} ${path}`
}
