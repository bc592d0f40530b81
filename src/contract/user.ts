import * as z from 'zod/mini'
import { answer, request } from './shapes.ts'

export const emailForm = /^[^\s@]+@[^\s@]+$/
export const emailWords = 'must be an e-mail address'
const email = () => z.string().check(z.regex(emailForm, emailWords))
const metadata = () => z.record(z.string(), z.unknown())
const userSettings = () => ({ theme: z.string(), notifications_enabled: z.boolean() })

/** interface.md, "User": create fields. */
export const createUserRequest = request(() => ({
  email: email(),
  password: z.string(),
  name: z.string(),
  metadata: metadata(),
}))
export type CreateUserRequest = z.infer<typeof createUserRequest>

/** PATCH /v1/users/{id}. */
export const updateUserRequest = request(() => ({
  name: z.string(),
  metadata: metadata(),
  settings: request(userSettings),
}))
export type UpdateUserRequest = z.infer<typeof updateUserRequest>

/** interface.md, "User": read fields. `created_at` is an ISO 8601 UTC time. */
export const user = answer(() => ({
  id: z.string(),
  email: z.string(),
  name: z.string(),
  created_at: z.string(),
  metadata: metadata(),
  settings: answer(userSettings),
}))
export type User = z.infer<typeof user>

export const permissionForm = /^[^\s:]+:[^\s:]+$/
export const permissionWords = 'must have the form <action>:<resource>, such as read:chat'
const permission = () => z.string().check(z.regex(permissionForm, permissionWords))

/** POST /v1/users/{id}/permissions. Whether it replaces or adds is not shown. */
export const assignPermissionsRequest = request(() => ({
  permissions: z.array(permission()),
  role: z.string(),
}))
export type AssignPermissionsRequest = z.infer<typeof assignPermissionsRequest>
