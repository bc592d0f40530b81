import type { OutgoingRequest } from '../../client/outgoing-request.ts'
import { parseJson, tryParse } from '../../contract/notation/exact-json.ts'
import { withoutTrailing } from '../../contract/notation/text.ts'
import { hideSecretParameters, hideSecrets } from '../../contract/secret-fields.ts'

/** Thrown by the gate under `--dry-run`: the request that would have left. */
export class HeldRequest extends Error {
  readonly request: OutgoingRequest
  /** Undefined for the embedded service, which was not started. */
  readonly baseUrl: string | undefined

  constructor(request: OutgoingRequest, baseUrl: string | undefined) {
    super('held back by --dry-run')
    this.request = request
    this.baseUrl = baseUrl
  }

  /** What is shown of it; secrets are not. */
  describe(): { method: string; url: string; body?: unknown } {
    const { method, path, query, body } = this.request
    const search = query ? `?${new URLSearchParams(query)}` : ''
    const shownPath = hideSecretParameters(`${path}${search}`)
    const base = withoutTrailing(this.baseUrl ?? 'local:', '/')
    const shown = body === undefined ? {} : { body: hideSecrets(readBody(body)) }
    return { method, url: `${base}${shownPath}`, ...shown }
  }
}

/** A raw body is shown as what it says, where it is JSON. */
function readBody(body: unknown): unknown {
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) return body
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body)
  const value = tryParse(text, parseJson)
  return value === undefined ? text : value
}
