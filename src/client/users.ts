import type { Profile, UserSettingsAnswer, UserSettingsRequest } from '../contract/profile.ts'
import type {
  AssignPermissionsRequest,
  CreateUserRequest,
  UpdateUserRequest,
  User,
} from '../contract/user.ts'
import type { Answer } from './answer.ts'
import type { EndpointCaller } from './endpoint-caller.ts'

/** interface.md, "Endpoints": the rows below /v1/users and /api/user. */
export class Users {
  readonly #caller: EndpointCaller

  constructor(caller: EndpointCaller) {
    this.#caller = caller
  }

  /** POST /v1/users. The body is not shown: the id may be in it, or in `location`. */
  create(body: CreateUserRequest): Promise<Answer<unknown>> {
    return this.#caller.call('createUser', { body })
  }

  /** GET /v1/users/{id}. */
  get(id: string): Promise<Answer<User>> {
    return this.#caller.call('getUser', { params: { id } })
  }

  /** PATCH /v1/users/{id}. */
  update(id: string, body: UpdateUserRequest): Promise<Answer<unknown>> {
    return this.#caller.call('updateUser', { params: { id }, body })
  }

  /** POST /v1/users/{id}/permissions. */
  assignPermissions(id: string, body: AssignPermissionsRequest): Promise<Answer<unknown>> {
    return this.#caller.call('assignPermissions', { params: { id }, body })
  }

  /** GET /api/user/profile: the user to whom the credential belongs. */
  profile(): Promise<Answer<Profile>> {
    return this.#caller.call('getProfile')
  }

  /** PUT /api/user/settings. */
  updateSettings(body: UserSettingsRequest): Promise<Answer<UserSettingsAnswer>> {
    return this.#caller.call('updateUserSettings', { body })
  }
}
