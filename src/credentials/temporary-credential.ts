/** A credential that one run obtains when it needs it, and keeps only in memory. */
export interface TemporaryCredential {
  /** API key or access token. */
  secret: string
  /** Null if that is not known. */
  kind: 'api_key' | 'oauth' | null
  /** Times in ISO 8601, UTC. */
  obtained_at?: string | undefined
  expires_at?: string | undefined
  scope?: string | undefined
}
