import type { Generated, Kysely } from 'kysely'

/** The rows as they lie in the database. Times are ISO 8601 UTC, objects are JSON text. */
export interface Tables {
  users: UserRow
  preferences: { user_id: string; document: string }
  settings: DocumentRow
  api_configuration: DocumentRow
  contexts: { id: string; user_id: string; created_at: string }
  messages: MessageRow
  api_keys: ApiKeyRow
}

export interface UserRow {
  id: string
  email: string
  /** The address in lower case: two users cannot differ by case alone. */
  email_key: string
  name: string
  /** argon2id in PHC form; null for a user who cannot sign in. */
  password_hash: string | null
  metadata: string
  role: string
  permissions: string
  created_at: string
  updated_at: string
}

/** One row, whose `id` is always 1. */
interface DocumentRow {
  id: number
  document: string
  updated_at: string
}

export interface MessageRow {
  /** The order in which messages were stored: what paging runs along. */
  seq: Generated<number>
  id: string
  context_id: string
  user_id: string
  role: 'user' | 'assistant'
  content: string
  /** 1 while an answer is still arriving, and for good when it was cut off. */
  incomplete: number
  model: string | null
  finish_reason: string | null
  created_at: string
}

export interface ApiKeyRow {
  id: string
  name: string
  /** SHA-256 of the key, hex. The key itself is kept nowhere. */
  hash: string
  /** The first characters of the key, to tell keys apart. */
  prefix: string
  user_id: string
  tier: Tier
  /** Requests per hour; null for no limit. */
  hourly_limit: number | null
  created_at: string
  last_used_at: string | null
  revoked_at: string | null
}

export type Tier = 'free' | 'pro' | 'enterprise'

export type Database = Kysely<Tables>
