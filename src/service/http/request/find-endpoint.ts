import { endpoints } from '../../../contract/endpoints.ts'
import { ApiError } from '../../api-error.ts'
import { openAiEndpoints, type ServedEndpointName } from '../../openai-endpoints.ts'

/** A path of the interface, or one for OpenAI clients. */
export interface KnownPath {
  /** Its endpoints by method. HEAD is supported for every path with GET. */
  methods: ReadonlyMap<string, ServedEndpointName>
  /** `{id}` of the path; empty if it has none. */
  id: string
}

const placeholder = '{id}'

/** Some clients do not encode the slashes in the ID of a model. */
const openAiModel = openAiEndpoints.openAiModel.path.replace(placeholder, '')

const templates = (() => {
  const byPath = new Map<string, Map<string, ServedEndpointName>>()
  const served = { ...endpoints, ...openAiEndpoints }
  for (const name of Object.keys(served) as ServedEndpointName[]) {
    const { method, path } = served[name]
    const methods = byPath.get(path) ?? new Map<string, ServedEndpointName>()
    byPath.set(path, methods.set(method, name))
    if (method === 'GET') methods.set('HEAD', name)
  }
  return [...byPath].map(([path, methods]) => ({ parts: path.split('/'), methods }))
})()

/**
 * Finds the endpoints of a path. Undefined for an unknown path.
 * @throws ApiError `invalid_request` for invalid percent-encoding (RFC 3986 section 2.1)
 */
export function findPath(path: string): KnownPath | undefined {
  const isModel = path.startsWith(openAiModel)
  const parts = isModel ? [...openAiModel.split('/', 4), path.slice(openAiModel.length)] : path.split('/')
  const given = path.includes('%') ? parts.map((part) => decode(part, path)) : parts
  for (const { parts: wanted, methods } of templates) {
    if (wanted.length === given.length && wanted.every((part, at) => fits(part, given[at]))) {
      return { methods, id: given[wanted.indexOf(placeholder)] ?? '' }
    }
  }
  return undefined
}

const fits = (wanted: string, given: string | undefined) =>
  wanted === placeholder ? given !== '' : wanted === given

function decode(part: string, path: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw new ApiError('invalid_request', `The path ${path} is not percent-encoded correctly`)
  }
}
