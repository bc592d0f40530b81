import type { ApplicationSettings } from '../../../src/contract/resources/settings.ts'
import { answer, type Behavior, type Handler, json, type RecordedRequest } from '../scripted-server.ts'

type Json = Record<string, unknown>

/**
 * Keeps settings. A test can change them at any time, like another client, and can set the fields below
 * to let changes take other effects.
 */
export class SettingsHandler implements Handler {
  settings: ApplicationSettings = {
    app_name: 'Chat',
    theme: { primary_color: '#112233', mode: 'light' },
    features: { chat: true, file_upload: false, code_completion: true },
    limits: { max_tokens: 4096, max_requests_per_min: 60 },
    x_extra: 1,
  }
  api: Json = {}
  /** Called before each reading with the number of earlier ones. It may return another behavior. */
  onRead: (count: number) => Behavior | undefined = () => undefined
  /** The settings after a PATCH. */
  patched: (before: ApplicationSettings, patch: object) => ApplicationSettings = lay
  /** The settings after a POST of the API configuration. */
  posted: (before: ApplicationSettings) => ApplicationSettings = (before) => before
  /** The response to a PATCH or a POST after the change (default: the settings). */
  answerPatch: Behavior | undefined
  answerPost: Behavior | undefined
  /** The number of readings after a PATCH that still return the old settings. */
  lag = 0
  #readings = 0
  #stale: ApplicationSettings = {}
  #staleReadings = 0

  /** Changes settings, like another user. */
  change(patch: Json): void {
    this.settings = lay(this.settings, patch)
  }

  choose({ method, path, body }: RecordedRequest): Behavior {
    if (path === '/v1/settings/api' && method === 'POST') {
      this.api = lay(this.api, JSON.parse(body))
      this.settings = this.posted(this.settings)
      return this.answerPost ?? json(200, this.api)
    }
    if (path !== '/v1/settings') return answer(404)
    if (method !== 'PATCH') {
      const chosen = this.onRead(this.#readings++)
      return chosen ?? json(200, this.#staleReadings-- > 0 ? this.#stale : this.settings)
    }
    this.#stale = this.settings
    this.#staleReadings = this.lag
    this.settings = this.patched(this.settings, JSON.parse(body))
    return this.answerPatch ?? json(200, this.settings)
  }
}

/** Merges `patch` into `base`: objects key by key, lists and scalars as a whole. */
export function lay<T extends object>(base: T, patch: object): T {
  const laid = { ...base } as Json
  for (const [key, value] of Object.entries(patch)) {
    const isNested = typeof value === 'object' && value !== null && !Array.isArray(value)
    laid[key] = isNested ? lay((laid[key] ?? {}) as Json, value) : value
  }
  return laid as T
}
