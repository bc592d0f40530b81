import {
  type Endpoint,
  type EndpointName,
  endpoints,
  type QueryOf,
  type RequestOf,
} from '../../../contract/endpoints.ts'
import { checkShape, type Fault, faultsOf } from '../../../contract/faults.ts'
import { valueAt } from '../../../contract/notation/tree.ts'
import { invalidRequest } from '../../api-error.ts'
import { fieldConstraints } from './field-constraints.ts'

interface Validated<N extends EndpointName> {
  body: RequestOf<N>
  query: QueryOf<N>
}

/**
 * The only place where requests are checked: first the types of the contract, then the constraints of
 * this service on each field whose type is correct, so that one response lists all faults.
 * @throws ApiError `invalid_request`
 */
export function validate<N extends EndpointName>(name: N, body: unknown, query: object): Validated<N> {
  const endpoint: Endpoint = endpoints[name]
  const faults: Fault[] = []
  const checkedQuery = endpoint.query ? readQuery(endpoint.query, query) : query
  if (endpoint.query) {
    faults.push(...check(name, endpoint.query, checkedQuery))
  } else {
    faults.push(...Object.keys(query).map((path) => ({ path, message: 'is an unknown parameter' })))
  }
  if (endpoint.request) faults.push(...check(name, endpoint.request, body))
  // A completion is not stored, so it may contain any text.
  if (name !== 'createCompletion') faults.push(...findInvalidText(body, ''))
  if (faults.length > 0) throw invalidRequest(faults)
  return { body: body as RequestOf<N>, query: checkedQuery as QueryOf<N> }
}

function check(name: EndpointName, schema: NonNullable<Endpoint['request']>, value: unknown): Fault[] {
  const parsed = checkShape(schema, value)
  const faults = parsed.success ? [] : faultsOf(parsed.error)
  if (faults.some(({ path }) => path === '')) return faults
  const isSound = (path: string) =>
    !faults.some((fault) => fault.path === path || path.startsWith(`${fault.path}.`))
  const outOfBounds = (fieldConstraints[name] ?? [])
    .filter((bound) => isSound(bound.path))
    .flatMap((bound) => bound.check(bound.path === '' ? value : valueAt(value, bound.path)))
  return [...faults, ...outOfBounds]
}

/**
 * Strings and keys that a database cannot store. On Node 22, SQLite truncates text at U+0000; PostgreSQL
 * refuses it; UTF-8 has no lone surrogates.
 */
function findInvalidText(value: unknown, path: string): Fault[] {
  const message = 'must be Unicode text without U+0000'
  if (typeof value === 'string') return isStorable(value) ? [] : [{ path, message }]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => {
    if (!isStorable(name)) return [{ path, message: 'must have only keys of Unicode text without U+0000' }]
    return findInvalidText(inner, path === '' ? name : `${path}.${name}`)
  })
}

const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\0')

/** Query parameters are text: converts those that are numbers in the contract. */
function readQuery(schema: NonNullable<Endpoint['query']>, raw: object): object {
  const read: Record<string, unknown> = { ...raw }
  for (const issue of schema.safeParse(raw).error?.issues ?? []) {
    const key = String(issue.path[0])
    const text = read[key]
    if (issue.code === 'invalid_type' && issue.expected === 'number' && typeof text === 'string') {
      if (/^-?\d+(\.\d+)?$/.test(text)) read[key] = Number(text)
    }
  }
  return read
}
