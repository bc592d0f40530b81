import type {
  ApiConfiguration,
  ApplicationSettings,
  Preferences,
  SettingsPatch,
} from '../contract/resources/settings.ts'
import type { EndpointCaller } from './outgoing-request.ts'
import type { ApiResponse } from './response/response.ts'

/** Settings of the application (docs/interface.md, "Endpoints": the rows below /v1/settings). */
export class Settings {
  readonly #caller: EndpointCaller

  /** @internal */
  constructor(caller: EndpointCaller) {
    this.#caller = caller
  }

  /** Reads the settings: GET /v1/settings. */
  get(): Promise<ApiResponse<ApplicationSettings>> {
    return this.#caller.call('getSettings')
  }

  /**
   * Changes settings: PATCH /v1/settings. Only the keys of `body` are sent
   * (docs/interface.md, "Endpoints", rule 1).
   * @param options `allowsUnknownFields`: sends fields that the interface does not document (default: they are
   *   refused)
   * @throws Failure with `isOutcomeUnknown` if the change may have been made
   */
  update(
    body: SettingsPatch,
    options: { allowsUnknownFields?: boolean } = {},
  ): Promise<ApiResponse<unknown>> {
    return this.#caller.call('updateSettings', { body, ...options })
  }

  /** Reads the user preferences: GET /v1/settings/preferences. */
  preferences(): Promise<ApiResponse<Preferences>> {
    return this.#caller.call('getPreferences')
  }

  /** Sets the API configuration, which cannot be read: POST /v1/settings/api. */
  setApi(body: ApiConfiguration): Promise<ApiResponse<unknown>> {
    return this.#caller.call('setApiConfiguration', { body })
  }
}
