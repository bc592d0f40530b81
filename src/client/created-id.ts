import { isNumber, isRecord } from '../contract/exact-json.ts'
import type { Answer } from './answer.ts'

/** The last segment of the path that users are created at. */
const collection = 'users'

/**
 * The id of what was just created: the body's, else the last segment of the Location header
 * (interface.md does not show the body). Undefined where neither names one: a Location may be that of
 * all users.
 */
export function idOfCreated({ body, location }: Answer<unknown>): string | undefined {
  const id = isRecord(body) ? body['id'] : undefined
  if (typeof id === 'string' && id !== '') return id
  if (isNumber(id)) return String(id)
  return location === undefined ? undefined : lastSegment(location)
}

function lastSegment(location: string): string | undefined {
  try {
    const segment = new URL(location, 'http://any.invalid').pathname.split('/').filter(Boolean).at(-1)
    return segment === undefined || segment === collection ? undefined : decodeURIComponent(segment)
  } catch {
    return undefined
  }
}
