import type { EndpointName } from '../../src/contract/endpoints.ts'

/** A valid request to each endpoint, with the permission that docs/reference/service.md says it requires. */
export interface SoundCall {
  method: string
  path: string
  body?: unknown
  permission: string
  status: number
}

let created = 0

/** @param userId id of a user who exists and may be changed */
export function soundCall(name: EndpointName, userId: string): SoundCall {
  created += 1
  const user = `/v1/users/${userId}`
  const messages = [{ role: 'user', content: 'hello' }]
  const email = `made-${created}@example.com`
  const calls: Record<EndpointName, [line: string, permission: string, body?: unknown, status?: number]> = {
    createCompletion: ['POST /v1/chat/completions', 'write:chat', { messages }],
    listModels: ['GET /v1/chat/models', 'read:chat'],
    sendMessage: ['POST /api/chat/send', 'write:chat', { message: 'hello' }],
    listHistory: ['GET /api/chat/history', 'read:chat'],
    getProfile: ['GET /api/user/profile', 'read:profile'],
    updateUserSettings: [
      'PUT /api/user/settings',
      'write:profile',
      { theme: created % 2 ? 'dark' : 'light' },
    ],
    getSettings: ['GET /v1/settings', 'read:settings'],
    updateSettings: ['PATCH /v1/settings', 'write:settings', { app_name: `Chat ${created}` }],
    getPreferences: ['GET /v1/settings/preferences', 'read:profile'],
    setApiConfiguration: ['POST /v1/settings/api', 'write:api', { version: `${created}` }],
    createUser: ['POST /v1/users', 'write:users', { email, password: 'long enough' }, 201],
    getUser: [`GET ${user}`, 'read:users'],
    updateUser: [`PATCH ${user}`, 'write:users', { name: `Name ${created}` }],
    assignPermissions: [`POST ${user}/permissions`, 'assign:permissions', { permissions: [] }],
  }
  if (!(name in calls)) throw new Error(`Add a call of ${name} to test/service/service-calls.ts`)
  const [line, permission, body, status = 200] = calls[name]
  const [method = '', path = ''] = line.split(' ')
  return { method, path, permission, status, ...(body !== undefined && { body }) }
}
