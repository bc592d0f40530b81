import type {
  AssignPermissionsRequest,
  CreateUserRequest,
  Profile,
  UpdateUserRequest,
  User,
  UserSettingsRequest,
  UserSettingsResponse,
} from '../contract/resources/user.ts'
import type { EndpointCaller } from './outgoing-request.ts'
import type { ApiResponse } from './response/response.ts'

/** Users and permissions (docs/interface.md, "Endpoints": the rows below /v1/users and /api/user). */
export class Users {
  readonly #caller: EndpointCaller

  /** @internal */
  constructor(caller: EndpointCaller) {
    this.#caller = caller
  }

  /**
   * Creates a user: POST /v1/users (docs/interface.md, "User"). The interface does not show the response
   * body: `idOfCreated` finds the id in it or in the `Location` header.
   * @throws Failure with `isOutcomeUnknown` if the user may have been created
   */
  create(body: CreateUserRequest): Promise<ApiResponse<unknown>> {
    return this.#caller.call('createUser', { body })
  }

  /** Reads a user: GET /v1/users/{id}. */
  get(id: string): Promise<ApiResponse<User>> {
    return this.#caller.call('getUser', { params: { id } })
  }

  /** Changes a user: PATCH /v1/users/{id}. Only the fields of `body` are sent. */
  update(id: string, body: UpdateUserRequest): Promise<ApiResponse<unknown>> {
    return this.#caller.call('updateUser', { params: { id }, body })
  }

  /** Sends permissions and a role: POST /v1/users/{id}/permissions. */
  assignPermissions(id: string, body: AssignPermissionsRequest): Promise<ApiResponse<unknown>> {
    return this.#caller.call('assignPermissions', { params: { id }, body })
  }

  /** Reads the user to whom the credential belongs: GET /api/user/profile. */
  profile(): Promise<ApiResponse<Profile>> {
    return this.#caller.call('getProfile')
  }

  /** Sets the settings of the user to whom the credential belongs: PUT /api/user/settings. */
  updateSettings(body: UserSettingsRequest): Promise<ApiResponse<UserSettingsResponse>> {
    return this.#caller.call('updateUserSettings', { body })
  }
}
