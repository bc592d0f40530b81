/** An extension of the interface by the embedded service (docs/reference/service.md, "Keys"). */
export const credentialExpiryHeader = 'x-credential-expires-at'

/**
 * When the credential of the request ends, as ISO 8601 UTC. Undefined if the service does not tell it.
 */
export function credentialExpiryOf(headers: Readonly<Record<string, string>>): string | undefined {
  const text = headers[credentialExpiryHeader] ?? ''
  // Date.parse also accepts other texts, some in the local time zone.
  const time = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(time) ? undefined : new Date(time).toISOString()
}
