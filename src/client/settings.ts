import type { ApiConfiguration } from '../contract/api-configuration.ts'
import type { Preferences } from '../contract/preferences.ts'
import type { Settings as ApplicationSettings, SettingsPatch } from '../contract/settings.ts'
import type { Answer } from './answer.ts'
import type { EndpointCaller } from './endpoint-caller.ts'

/** interface.md, "Endpoints": the rows below /v1/settings. */
export class Settings {
  readonly #caller: EndpointCaller

  constructor(caller: EndpointCaller) {
    this.#caller = caller
  }

  /** GET /v1/settings. */
  get(): Promise<Answer<ApplicationSettings>> {
    return this.#caller.call('getSettings')
  }

  /** PATCH /v1/settings: only the keys in `body` are named (interface.md, "Endpoints", rule 1). */
  update(body: SettingsPatch): Promise<Answer<unknown>> {
    return this.#caller.call('updateSettings', { body })
  }

  /** GET /v1/settings/preferences. */
  preferences(): Promise<Answer<Preferences>> {
    return this.#caller.call('getPreferences')
  }

  /** POST /v1/settings/api. */
  setApi(body: ApiConfiguration): Promise<Answer<unknown>> {
    return this.#caller.call('setApiConfiguration', { body })
  }
}
