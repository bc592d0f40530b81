import * as z from 'zod/mini'
import { isNumber, isRecord } from '../notation/exact-json.ts'
import { type Maybe, type Received, request, response } from './shapes.ts'

/** Without invisible characters, with which one address would be two users. Compiled at the first call: it takes 1 ms. */
export const emailPattern = (): RegExp => /^[^\s@\p{Cc}\p{Cf}\p{Cs}\p{DI}]+@[^\s@\p{Cc}\p{Cf}\p{Cs}\p{DI}]+$/u
const emailRule = 'must be a valid email address'
const email = () => z.string().check(z.regex(emailPattern(), emailRule))
const freeForm = () => z.record(z.string(), z.unknown())
const userSettings = () => ({ theme: z.string(), notifications_enabled: z.boolean() })

/** A user to create (docs/interface.md, "User"). */
export interface CreateUserRequest {
  email?: string | undefined
  password?: string | undefined
  name?: string | undefined
  /** Any keys; `company` and `role` are documented. */
  metadata?: Record<string, unknown> | undefined
}

/** @internal */
export const createUserRequest = request<CreateUserRequest>(() => ({
  email: email(),
  password: z.string(),
  name: z.string(),
  metadata: freeForm(),
}))

/** A change to a user (docs/interface.md, "Endpoints"). An omitted field keeps its value. */
export interface UpdateUserRequest {
  name?: string | undefined
  metadata?: Record<string, unknown> | undefined
  settings?: { theme?: string | undefined; notifications_enabled?: boolean | undefined } | undefined
}

/** @internal */
export const updateUserRequest = request<UpdateUserRequest>(() => ({
  name: z.string(),
  metadata: freeForm(),
  settings: request<NonNullable<UpdateUserRequest['settings']>>(userSettings),
}))

/** A user in a response (docs/interface.md, "User"). */
export interface User extends Received {
  id?: Maybe<string>
  email?: Maybe<string>
  name?: Maybe<string>
  /** ISO 8601 timestamp in UTC. */
  created_at?: Maybe<string>
  metadata?: Maybe<Record<string, unknown>>
  settings?: Maybe<Received & { theme?: Maybe<string>; notifications_enabled?: Maybe<boolean> }>
}

/**
 * The user in a response body. Some services have it in `user` or `data`, or name its ID `user_id`: then the fields of
 * both, with the ID in `id`, and without the field that had it. Any other body is returned unchanged.
 */
export function userIn(body: unknown): unknown {
  if (!isRecord(body) || ownId(body) !== undefined) return body
  const { user, data, user_id } = body
  const fields = { user: userIn(user), data: userIn(data), user_id: { id: user_id } }
  const found = Object.entries(fields).find(([, inner]) => ownId(inner) !== undefined)
  if (!found) return body
  const { [found[0]]: _, ...others } = body
  return { ...others, ...(found[1] as object) }
}

/** The ID of the user in a response body; some services have numbers as IDs. */
export function idIn(body: unknown): string | undefined {
  return ownId(userIn(body))
}

function ownId(user: unknown): string | undefined {
  const id = isRecord(user) ? user['id'] : undefined
  if (isNumber(id)) return String(id)
  return typeof id === 'string' && id !== '' ? id : undefined
}

/** @internal */
export const user = response<User>(() => ({
  id: z.string(),
  email: z.string(),
  name: z.string(),
  created_at: z.string(),
  metadata: freeForm(),
  settings: response<NonNullable<User['settings']>>(userSettings),
}))

export const permissionPattern = /^[^\s:]+:[^\s:]+$/
export const permissionRule = 'must have the form <action>:<resource>, such as read:chat'
const permission = () => z.string().check(z.regex(permissionPattern, permissionRule))

/**
 * Permissions for a user (docs/interface.md, "User"). The interface does not show whether they replace the user's
 * permissions or are added to them.
 */
export interface AssignPermissionsRequest {
  /** Each has the form `<action>:<resource>`, such as `read:chat`. */
  permissions?: string[] | undefined
  /** The service defines the names. */
  role?: string | undefined
}

/** @internal */
export const assignPermissionsRequest = request<AssignPermissionsRequest>(() => ({
  permissions: z.array(permission()),
  role: z.string(),
}))

/** The user to whom the credential belongs (docs/interface.md, "Profile and user settings in the /api family"). */
export interface Profile extends Received {
  id?: Maybe<string>
  email?: Maybe<string>
  name?: Maybe<string>
  /** Timestamp, as the service wrote it. */
  created_at?: Maybe<string>
  preferences?: Maybe<Record<string, unknown>>
}

/** @internal */
export const profile = response<Profile>(() => ({
  id: z.string(),
  email: z.string(),
  name: z.string(),
  created_at: z.string(),
  preferences: freeForm(),
}))

/** The user's own settings (docs/interface.md, "Profile and user settings in the /api family"). */
export interface UserSettingsRequest {
  theme?: string | undefined
  /** Language code. */
  language?: string | undefined
  notifications?: Record<string, unknown> | undefined
}

/** @internal */
export const userSettingsRequest = request<UserSettingsRequest>(() => ({
  theme: z.string(),
  language: z.string(),
  notifications: freeForm(),
}))

/** The response of PUT /api/user/settings. `success: false` is a failure instead. */
export interface UserSettingsResponse extends Received {
  success?: Maybe<boolean>
  settings?: Maybe<Record<string, unknown>>
}

/** @internal */
export const userSettingsResponse = response<UserSettingsResponse>(() => ({
  success: z.boolean(),
  settings: freeForm(),
}))
