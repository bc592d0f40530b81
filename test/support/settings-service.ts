import { answer, type Behaviour, json, type RecordedRequest, type Script } from './fault-server.ts'

type Json = Record<string, unknown>

/** The settings of a service that keeps what it is sent, and may be changed behind the back of whoever reads them. */
export class SettingsService {
  settings: Json = {
    app_name: 'Chat',
    theme: { primary_color: '#112233', mode: 'light' },
    features: { chat: true, file_upload: false, code_completion: true },
    limits: { max_tokens: 4096, max_requests_per_min: 60 },
    x_extra: 1,
  }
  api: Json = {}
  /** What is done otherwise than usual, by method and how often it was used before. */
  otherwise: (method: string, count: number) => Behaviour | undefined = () => undefined
  readonly #counts: Record<string, number> = {}

  readonly script: Script = { choose: (request) => this.#choose(request) }

  /** As somebody else would change them. */
  change(patch: Json): void {
    this.settings = merge(this.settings, patch)
  }

  #choose({ method, path, body }: RecordedRequest): Behaviour {
    const count = this.#counts[method] ?? 0
    this.#counts[method] = count + 1
    const otherwise = this.otherwise(method, count)
    if (otherwise) return otherwise
    if (path === '/v1/settings/api' && method === 'POST') {
      this.api = merge(this.api, JSON.parse(body))
      return json(200, this.api)
    }
    if (path !== '/v1/settings') return answer(404)
    if (method === 'PATCH') this.change(JSON.parse(body))
    return json(200, this.settings)
  }
}

function merge(target: Json, patch: Json): Json {
  const merged = { ...target }
  for (const [key, value] of Object.entries(patch)) {
    const isNested = typeof value === 'object' && value !== null && !Array.isArray(value)
    merged[key] = isNested ? merge((merged[key] ?? {}) as Json, value as Json) : value
  }
  return merged
}
