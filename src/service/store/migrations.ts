import { Failure } from '../../contract/failure.ts'
import { ApiError } from '../api-error.ts'

/** What the engines call differently. */
export interface SqlWords {
  /** 64 bits. */
  integer: string
  /** The type of a primary key that counts upwards. */
  sequence: string
  /** A condition that a text is JSON. */
  isJson(column: string): string
  /** The current time in the format of `Date.toISOString`. */
  now: string
  /** The end of a `create table`. */
  strict: string
}

export interface Migration {
  /** 1, 2, 3 …: the position in the list. */
  number: number
  name: string
  /** SQL, run in one transaction. */
  statements(words: SqlWords): string
}

/**
 * Whether older data is migrated: only if no other process uses it, also then, or only as a rehearsal that stores
 * nothing, if no other process uses it.
 */
export type MigrationRule = 'unused' | 'always' | 'rehearsal'

/** What a migration did. `from` is 0 for new data. */
export interface Migrated {
  from: number
  to: number
  /** The size of the database. */
  bytes_before: number
  bytes_after: number
}

/** Only append to this list once a version with it was released. */
export const migrations: readonly Migration[] = [
  { number: 1, name: 'initial', statements: (words) => createAll(words) },
  { number: 2, name: 'disabled users', statements: () => 'alter table users add column disabled_at text' },
]

/** The SQL that migrates data from a schema, and enters each migration in their table. @param from 0 for new data */
export const migrationSql = (from: number, wanted: readonly Migration[], words: SqlWords): string =>
  [
    ...(from === 0 ? [createMigrationsTable(words)] : []),
    ...wanted
      .slice(from)
      .flatMap(({ number, name, statements }) => [
        statements(words),
        `insert into migrations (number, name, applied_at) values (${number}, '${name}', ${words.now})`,
      ]),
  ].join(';\n')

const createMigrationsTable = ({ integer, strict }: SqlWords): string =>
  `create table migrations (number ${integer} primary key, name text not null, applied_at text not null)${strict}`

/**
 * @param newest the number of the newest migration that ran
 * @param location the database in words
 * @throws Failure `storage` for data of a newer program
 */
export function refuseNewerSchema(newest: number, wanted: readonly Migration[], location: string): void {
  if (newest <= wanted.length) return
  throw new Failure(
    'storage',
    `${location} was created by a newer chatctl (schema ${newest}; this version supports ${wanted.length}); nothing was changed`,
    { hint: 'Install the newest version of chatctl' },
  )
}

/** @throws Failure `storage` for data of an older program, unless there is a rule to migrate it */
export function refuseOlderSchema(
  newest: number,
  wanted: readonly Migration[],
  location: string,
  rule: MigrationRule | undefined,
): void {
  if (newest === 0 || newest === wanted.length || rule !== undefined) return
  throw new Failure(
    'storage',
    `${location} was created by an older chatctl (schema ${newest}; this version requires ${wanted.length}); nothing was changed`,
    { advice: [{ code: 'migrate' }] },
  )
}

/** The Failure for data that other processes use, which could not use it after a migration. */
export const dataInUse = (location: string): Failure =>
  new Failure('conflict', `Other processes use ${location}, which this version would migrate`, {
    advice: [{ code: 'migrate_in_use' }],
  })

/** @throws ApiError `storage_migrated` if another process has migrated the data since this one opened it */
export function requireKnownSchema(newest: number): void {
  if (newest <= migrations.length) return
  throw new ApiError(
    'storage_migrated',
    `A newer chatctl has migrated the data (schema ${newest}; this process supports ${migrations.length}): restart it with the newer version`,
    { details: { stored: false } },
  )
}

export const foreignDatabase = (location: string, hint: string): Failure =>
  new Failure('storage', `${location} belongs to another program; nothing was changed`, { hint })

const createAll = (words: SqlWords): string =>
  [createUsers, createConversations, createAccess, createOAuth, insertRows]
    .map((statements) => statements(words))
    .join('')

const createUsers = ({ integer, isJson, strict }: SqlWords): string => `
create table users (
  id text primary key,
  email text not null,
  email_key text not null unique,
  name text not null,
  password_hash text,
  metadata text not null check (${isJson('metadata')}),
  role text not null,
  permissions text not null check (${isJson('permissions')}),
  created_at text not null,
  updated_at text not null
)${strict};

create table preferences (
  user_id text primary key references users (id) on delete cascade,
  document text not null check (${isJson('document')})
)${strict};

create table settings (
  id ${integer} primary key check (id = 1),
  document text not null check (${isJson('document')}),
  updated_at text not null
)${strict};

create table api_configuration (
  id ${integer} primary key check (id = 1),
  document text not null check (${isJson('document')}),
  updated_at text not null
)${strict};
`

const createConversations = ({ integer, sequence, strict }: SqlWords): string => `
create table contexts (
  id text primary key,
  user_id text not null references users (id) on delete cascade,
  created_at text not null
)${strict};
create index contexts_of_user on contexts (user_id);

create table messages (
  seq ${sequence},
  id text not null unique,
  context_id text not null references contexts (id) on delete cascade,
  user_id text not null references users (id) on delete cascade,
  role text not null check (role in ('user', 'assistant')),
  content text not null,
  incomplete ${integer} not null default 0 check (incomplete in (0, 1)),
  model text,
  finish_reason text,
  created_at text not null
)${strict};
create index messages_of_context on messages (context_id, seq);
create index messages_of_user on messages (user_id, seq);
`

const createAccess = ({ integer, sequence, isJson, strict }: SqlWords): string => `
create table trusts (
  id text primary key,
  name text not null unique,
  issuer text not null,
  audience text not null,
  subject text not null,
  permissions text not null check (${isJson('permissions')}),
  user_id text not null references users (id) on delete cascade,
  tier text not null check (tier in ('free', 'pro', 'enterprise')),
  hourly_limit ${integer} check (hourly_limit > 0),
  token_lifetime ${integer} not null check (token_lifetime > 0),
  created_at text not null,
  last_used_at text
)${strict};
create index trusts_by_issuer on trusts (issuer);

create table api_keys (
  id text primary key,
  name text not null,
  hash text not null unique,
  prefix text not null,
  user_id text not null references users (id) on delete cascade,
  tier text not null check (tier in ('free', 'pro', 'enterprise')),
  hourly_limit ${integer} check (hourly_limit > 0),
  created_at text not null,
  last_used_at text,
  revoked_at text,
  permissions text,
  expires_at text,
  trust_id text references trusts (id) on delete cascade,
  source text
)${strict};
create index api_keys_of_trust on api_keys (trust_id);

create table audit_log (
  seq ${sequence},
  at text not null,
  actor text not null,
  key_id text,
  action text not null,
  target text not null,
  before text,
  after text,
  request_id text
)${strict};
create index audit_log_by_time on audit_log (at);
`

const createOAuth = ({ integer, strict }: SqlWords): string => `
create table oauth_records (
  model text not null,
  id_hash text not null,
  payload text not null,
  uid_hash text,
  user_code_hash text,
  grant_hash text,
  user_id text references users (id) on delete cascade,
  consumed_at ${integer},
  expires_at ${integer},
  created_at text not null,
  primary key (model, id_hash)
)${strict};
create index oauth_records_by_uid on oauth_records (uid_hash);
create index oauth_records_by_grant on oauth_records (grant_hash);
create index oauth_records_by_user on oauth_records (user_id);
create index oauth_records_by_end on oauth_records (expires_at);

create table service_secrets (
  name text primary key,
  value text not null,
  created_at text not null
)${strict};

create table sign_in_failures (
  subject text primary key,
  failures ${integer} not null,
  last_failure_at ${integer} not null,
  locked_until ${integer}
)${strict};

create table second_factors (
  user_id text primary key references users (id) on delete cascade,
  secret text not null,
  confirmed_at text,
  last_step ${integer}
)${strict};
`

/** The built-in admin, and the documents. */
const insertRows = ({ now }: SqlWords): string => `
insert into users (id, email, email_key, name, metadata, role, permissions, created_at, updated_at)
values ('usr_admin', 'admin@localhost', 'admin@localhost', 'Administrator', '{}', 'admin', '["*:*"]', ${now}, ${now});
insert into preferences (user_id, document) values ('usr_admin', '{}');
insert into settings (id, document, updated_at) values (1, '{}', ${now});
insert into api_configuration (id, document, updated_at) values (1, '{}', ${now});
`
