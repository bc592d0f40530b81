import type { Generated, Kysely } from 'kysely'
import type { Counters, Warn } from './counters.ts'
import type { Migrated } from './migrations.ts'

/** The rows of the database. Times are ISO 8601 UTC, objects are JSON text. */
export interface Tables {
  users: UserRow
  preferences: { user_id: string; document: string }
  settings: DocumentRow
  api_configuration: DocumentRow
  contexts: { id: string; user_id: string; created_at: string }
  messages: MessageRow
  api_keys: ApiKeyRow
  trusts: TrustRow
  audit_log: AuditRow
  oauth_records: OAuthRow
  /** Signing keys by name, which all processes share. */
  service_secrets: { name: string; value: string; created_at: string }
  sign_in_failures: SignInFailureRow
  second_factors: SecondFactorRow
  migrations: { number: number; name: string; applied_at: string }
}

export interface UserRow {
  id: string
  email: string
  /** The email in lower case: two users cannot differ only by case. */
  email_key: string
  name: string
  /** argon2id in PHC form; null for a user who cannot sign in. */
  password_hash: string | null
  metadata: string
  role: string
  permissions: string
  created_at: string
  updated_at: string
  /** Null for a user who may use the service. */
  disabled_at: string | null
}

/** A table with one row, whose `id` is always 1. */
interface DocumentRow {
  id: number
  document: string
  updated_at: string
}

export interface MessageRow {
  /** The order in which messages were stored, for paging. */
  seq: Generated<number>
  id: string
  context_id: string
  user_id: string
  role: 'user' | 'assistant'
  content: string
  /** 1 while a reply is still arriving, and permanently if it ended early. */
  incomplete: number
  model: string | null
  finish_reason: string | null
  created_at: string
}

export interface ApiKeyRow {
  id: string
  name: string
  /** SHA-256 of the key, hex. The key itself is not stored. */
  hash: string
  /** The first characters of the key, to distinguish keys. */
  prefix: string
  user_id: string
  tier: Tier
  /** Requests per hour; null for no limit. */
  hourly_limit: number | null
  created_at: string
  last_used_at: string | null
  revoked_at: string | null
  /** JSON array of the permissions of the key; null for all permissions of its user. */
  permissions: string | null
  expires_at: string | null
  /** The trust whose access token this is; otherwise null. */
  trust_id: string | null
  /** Of an exchanged token: the ID of the key or the digest of the grant on which it depends; otherwise null. */
  source: string | null
}

/** A trust in the identity tokens of an issuer. */
export interface TrustRow {
  id: string
  name: string
  /** The `iss`, `aud`, and `sub` of the identity tokens. The subject is a pattern (see `matchesSubject`). */
  issuer: string
  audience: string
  subject: string
  /** JSON array. */
  permissions: string
  /** The user whom access tokens act as. */
  user_id: string
  tier: Tier
  /** Requests per hour; null for no limit. */
  hourly_limit: number | null
  /** Seconds until an access token expires. */
  token_lifetime: number
  created_at: string
  last_used_at: string | null
}

/** One administrative change. */
export interface AuditRow {
  seq: Generated<number>
  at: string
  /** A user's id, `anonymous`, or `machine:NAME` for a command of a system user on the machine of the service. */
  actor: string
  key_id: string | null
  action: string
  /** The id of what was changed, or its name. */
  target: string
  /** JSON without secrets; null for a new or a deleted object. */
  before: string | null
  after: string | null
  request_id: string | null
}

/** A record of the OAuth server. Ids are SHA-256 digests, hex; times are Unix seconds. */
interface OAuthRow {
  /** `Session`, `Grant`, `AccessToken` … */
  model: string
  id_hash: string
  payload: string
  uid_hash: string | null
  user_code_hash: string | null
  grant_hash: string | null
  user_id: string | null
  consumed_at: number | null
  expires_at: number | null
  created_at: string
}

/** Times are Unix milliseconds. */
interface SignInFailureRow {
  /** The key of the count: digests of accounts, networks, and browsers (attempt-throttle.ts). */
  subject: string
  failures: number
  last_failure_at: number
  locked_until: number | null
}

interface SecondFactorRow {
  user_id: string
  /** Base 32 (RFC 4648), as authenticator programs take it. */
  secret: string
  /** Null until a first code has confirmed the secret. */
  confirmed_at: string | null
  /** The newest time step whose code was used: a code is accepted once (RFC 6238 section 5.2). */
  last_step: number | null
}

export type Tier = 'free' | 'pro' | 'enterprise'

export type Database = Kysely<Tables>

/** The data of a service, on either engine. */
export interface Store {
  readonly engine: 'sqlite' | 'postgres'
  /** A transaction may share a commit with others, so it must contain only queries. */
  readonly db: Database
  /** The file, or the URL of the database without a secret. */
  readonly location: string
  /** Whether this call created the data; false for another process that opens it at the same time. */
  readonly created: boolean
  readonly migrated: Migrated | undefined
  /** The copy of older data, if SQLite was migrated. */
  readonly backup?: string | undefined
  /**
   * Data that was read before may be out of date once this number differs. Cheap enough for each request.
   * Covers settings, keys, users, and API configuration.
   */
  generation(): number
  /**
   * Must be called after a change of the settings, the API configuration, a permission, or an access token of a
   * trust, so that the next request of this process finds it.
   */
  noteChange(): void
  /** The counters of requests. The caller must close them before the store. */
  openCounters(warn: Warn): Counters
  /**
   * Reads a URL of the same PostgreSQL database again, such as one with a new password.
   * @returns uses it for each new connection
   * @throws Failure `config` for an invalid URL, or one of another database
   */
  prepareReload?(database: string): () => void
  close(): Promise<void>
}
