import * as z from 'zod/mini'
import { completion, completionRequest, modelList } from './resources/completion.ts'
import { historyPage, historyQuery, sendRequest, sendResponse } from './resources/conversation.ts'
import { apiConfiguration, preferences, settings, settingsPatch } from './resources/settings.ts'
import {
  assignPermissionsRequest,
  createUserRequest,
  profile,
  updateUserRequest,
  user,
  userSettingsRequest,
  userSettingsResponse,
} from './resources/user.ts'

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH'

/** One row of docs/interface.md, "Endpoints". */
export interface Endpoint {
  method: Method
  /** Relative to the base URL; `{id}` is a placeholder. */
  path: `/${string}`
  query?: z.ZodMiniType
  request?: z.ZodMiniType
  /** Undefined if the interface says "not shown". */
  response?: z.ZodMiniType
  /** The minimum that makes a response usable. Other deviations from `response` cause a warning, not an error. */
  needs?: Readonly<Record<string, z.ZodMiniType>> | 'reply'
}

/** Unlike `z.array(z.unknown())`, it does not copy the list. */
const list = z.custom<unknown[]>(Array.isArray, 'must be an array')

export const endpoints = {
  createCompletion: {
    method: 'POST',
    path: '/v1/chat/completions',
    request: completionRequest,
    response: completion,
    needs: 'reply',
  },
  listModels: { method: 'GET', path: '/v1/chat/models', response: modelList, needs: { data: list } },
  sendMessage: {
    method: 'POST',
    path: '/api/chat/send',
    request: sendRequest,
    response: sendResponse,
    needs: 'reply',
  },
  listHistory: {
    method: 'GET',
    path: '/api/chat/history',
    query: historyQuery,
    response: historyPage,
    needs: { messages: list },
  },
  getProfile: { method: 'GET', path: '/api/user/profile', response: profile },
  updateUserSettings: {
    method: 'PUT',
    path: '/api/user/settings',
    request: userSettingsRequest,
    response: userSettingsResponse,
  },
  getSettings: { method: 'GET', path: '/v1/settings', response: settings },
  updateSettings: { method: 'PATCH', path: '/v1/settings', request: settingsPatch },
  getPreferences: { method: 'GET', path: '/v1/settings/preferences', response: preferences },
  setApiConfiguration: { method: 'POST', path: '/v1/settings/api', request: apiConfiguration },
  createUser: { method: 'POST', path: '/v1/users', request: createUserRequest },
  getUser: { method: 'GET', path: '/v1/users/{id}', response: user },
  updateUser: { method: 'PATCH', path: '/v1/users/{id}', request: updateUserRequest },
  assignPermissions: {
    method: 'POST',
    path: '/v1/users/{id}/permissions',
    request: assignPermissionsRequest,
  },
} as const satisfies Record<string, Endpoint>

export type EndpointName = keyof typeof endpoints

/**
 * The endpoint of a request. The end of the path decides, because a base URL may have any path.
 * @param pathname of the final URL
 * @returns `start`: where the path of the interface begins; `id`: the part of it that the placeholder matches
 */
export function findEndpoint(
  method: string,
  pathname: string,
): { name: EndpointName; start: number; id: string | undefined } | undefined {
  for (const [name, endpoint] of Object.entries(endpoints)) {
    if (endpoint.method !== method) continue
    const found = new RegExp(`${endpoint.path.replace('{id}', '([^/]+)')}/*$`).exec(pathname)
    if (found) return { name: name as EndpointName, start: found.index, id: found[1] }
  }
  return undefined
}

type Inferred<E, Part extends string> = E extends { [P in Part]: infer S extends z.ZodMiniType }
  ? z.infer<S>
  : undefined

/** The request body of an endpoint; undefined if it has none. */
export type RequestOf<N extends EndpointName> = Inferred<(typeof endpoints)[N], 'request'>
/** The query of an endpoint; undefined if it has none. */
export type QueryOf<N extends EndpointName> = Inferred<(typeof endpoints)[N], 'query'>
/** The response body of an endpoint; unknown if the interface does not show it. */
export type ResponseOf<N extends EndpointName> = (typeof endpoints)[N] extends {
  response: infer S extends z.ZodMiniType
}
  ? z.infer<S>
  : unknown

/** @param request its path may have a query */
export function isRequestTo(
  endpoint: Pick<Endpoint, 'method' | 'path'>,
  { method, path }: { method: string; path: string },
): boolean {
  return method === endpoint.method && path.split('?')[0] === endpoint.path
}
