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
  const calls: Record<EndpointName, Omit<SoundCall, 'status'> & { status?: number }> = {
    createCompletion: {
      method: 'POST',
      path: '/v1/chat/completions',
      body: { messages },
      permission: 'write:chat',
    },
    listModels: { method: 'GET', path: '/v1/chat/models', permission: 'read:chat' },
    sendMessage: {
      method: 'POST',
      path: '/api/chat/send',
      body: { message: 'hello' },
      permission: 'write:chat',
    },
    listHistory: { method: 'GET', path: '/api/chat/history', permission: 'read:chat' },
    getProfile: { method: 'GET', path: '/api/user/profile', permission: 'read:profile' },
    updateUserSettings: {
      method: 'PUT',
      path: '/api/user/settings',
      body: { theme: created % 2 ? 'dark' : 'light' },
      permission: 'write:profile',
    },
    getSettings: { method: 'GET', path: '/v1/settings', permission: 'read:settings' },
    updateSettings: {
      method: 'PATCH',
      path: '/v1/settings',
      body: { app_name: `Chat ${created}` },
      permission: 'write:settings',
    },
    getPreferences: { method: 'GET', path: '/v1/settings/preferences', permission: 'read:profile' },
    setApiConfiguration: {
      method: 'POST',
      path: '/v1/settings/api',
      body: { version: `${created}` },
      permission: 'write:api',
    },
    createUser: {
      method: 'POST',
      path: '/v1/users',
      body: { email, password: 'long enough' },
      permission: 'write:users',
      status: 201,
    },
    getUser: { method: 'GET', path: user, permission: 'read:users' },
    updateUser: { method: 'PATCH', path: user, body: { name: `Name ${created}` }, permission: 'write:users' },
    assignPermissions: {
      method: 'POST',
      path: `${user}/permissions`,
      body: { permissions: [] },
      permission: 'assign:permissions',
    },
  }
  if (!(name in calls)) throw new Error(`Add a call of ${name} to test/service/service-calls.ts`)
  return { status: 200, ...calls[name] }
}
