import type { Settings } from '../../src/contract/settings.ts'
import { answer, type Behaviour, json, type RecordedRequest, type Script } from './fault-server.ts'

type Json = Record<string, unknown>

/**
 * The settings of a service that keeps what it is sent, and may be changed behind the back of whoever
 * reads them. How it departs from that is in the fields, to be set at any time.
 */
export class SettingsService {
  settings: Settings = {
    app_name: 'Chat',
    theme: { primary_color: '#112233', mode: 'light' },
    features: { chat: true, file_upload: false, code_completion: true },
    limits: { max_tokens: 4096, max_requests_per_min: 60 },
    x_extra: 1,
  }
  api: Json = {}
  /** What is done in place of all else, by method and how often it was used before. */
  otherwise: (method: string, count: number) => Behaviour | undefined = () => undefined
  /** What there is after a PATCH. */
  patched: (before: Settings, patch: object) => Settings = lay
  /** What there is after a POST of the API configuration. */
  posted: (before: Settings) => Settings = (before) => before
  /** How a PATCH, or a POST, is answered once it is done; with what there is unless said. */
  answerPatch: Behaviour | undefined
  answerPost: Behaviour | undefined
  /** How many readings after a PATCH still find what was there before. */
  lag = 0
  readonly #counts: Record<string, number> = {}
  #stale: Settings = {}
  #staleReadings = 0

  readonly script: Script = { choose: (request) => this.#choose(request) }

  /** As somebody else would change them. */
  change(patch: Json): void {
    this.settings = lay(this.settings, patch)
  }

  #choose({ method, path, body }: RecordedRequest): Behaviour {
    const count = this.#counts[method] ?? 0
    this.#counts[method] = count + 1
    const otherwise = this.otherwise(method, count)
    if (otherwise) return otherwise
    if (path === '/v1/settings/api' && method === 'POST') {
      this.api = lay(this.api, JSON.parse(body))
      this.settings = this.posted(this.settings)
      return this.answerPost ?? json(200, this.api)
    }
    if (path !== '/v1/settings') return answer(404)
    if (method !== 'PATCH') return json(200, this.#staleReadings-- > 0 ? this.#stale : this.settings)
    this.#stale = this.settings
    this.#staleReadings = this.lag
    this.settings = this.patched(this.settings, JSON.parse(body))
    return this.answerPatch ?? json(200, this.settings)
  }
}

/** `patch` laid over `base`: maps key by key, lists and scalars whole. */
export function lay<T extends object>(base: T, patch: object): T {
  const laid = { ...base } as Json
  for (const [key, value] of Object.entries(patch)) {
    const isNested = typeof value === 'object' && value !== null && !Array.isArray(value)
    laid[key] = isNested ? lay((laid[key] ?? {}) as Json, value) : value
  }
  return laid as T
}
