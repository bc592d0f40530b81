import { type EndpointName, endpoints } from '../../../contract/endpoints.ts'
import { ApiError } from '../../api-error.ts'

/** A path of the interface. */
export interface KnownPath {
  /** Its endpoints by method. HEAD is supported for every path with GET. */
  methods: ReadonlyMap<string, EndpointName>
  /** `{id}` of the path; empty if it has none. */
  id: string
}

const placeholder = '{id}'

const templates = (() => {
  const byPath = new Map<string, Map<string, EndpointName>>()
  for (const name of Object.keys(endpoints) as EndpointName[]) {
    const { method, path } = endpoints[name]
    const methods = byPath.get(path) ?? new Map<string, EndpointName>()
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
  const parts = path.split('/')
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
