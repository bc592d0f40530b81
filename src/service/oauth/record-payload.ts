import { createHash } from 'node:crypto'

/** SHA-256, hex: all that the database knows of an id. Ids are random, so a plain digest cannot be searched. */
export const digest = (id: string): string => createHash('sha256').update(id).digest('hex')

/**
 * How one record names another: `#` and the digest of its id, which nobody can present as an id.
 * What was read from the database names others so already.
 */
const referTo = (id: string): string => (id.startsWith('#') ? id : `#${digest(id)}`)

/** The digest of what is an id or a reference; only for what never comes from outside. */
export const digestOfReference = (idOrReference: string): string => referTo(idOrReference).slice(1)

/** Where a payload names another record. */
const referenceFields = new Set(['grantId', 'sessionUid', 'uid'])

/** The record's own id and end have columns; `cookie` would be the id of a session in an interaction. */
const omittedFields = new Set(['jti', 'exp', 'consumed', 'cookie'])

/** Stands for the record's own id in the address that an interaction returns to. */
const ownId = '{id}'

/** A payload of oidc-provider as it is stored: JSON in which no id of anything can be found. */
export function writePayload(id: string, payload: object): string {
  return JSON.stringify(payload, (key, value) => {
    if (omittedFields.has(key)) return undefined
    if (typeof value !== 'string') return value
    if (referenceFields.has(key)) return referTo(value)
    return key === 'returnTo' ? value.replace(id, ownId) : value
  })
}

/** The same back, for the id that it was found by. */
export function readPayload(id: string | undefined, text: string): Record<string, unknown> {
  const payload = JSON.parse(text)
  if (id === undefined) return payload
  if (typeof payload.returnTo === 'string') payload.returnTo = payload.returnTo.replace(ownId, id)
  return { ...payload, jti: id }
}
