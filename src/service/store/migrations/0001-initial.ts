/** The first schema. Must not change, because its checksum is stored: write a new migration instead. */
export const initial = {
  number: 1,
  name: 'initial',
  checksum: '6ac7f7131e4b7fc57f496e649409df8d253e781fe6847f1316316319920d9965',
  statements: `
create table users (
  id text primary key,
  email text not null,
  email_key text not null unique,
  name text not null,
  password_hash text,
  metadata text not null check (json_valid(metadata)),
  role text not null,
  permissions text not null check (json_valid(permissions)),
  created_at text not null,
  updated_at text not null
) strict;

create table preferences (
  user_id text primary key references users (id) on delete cascade,
  document text not null check (json_valid(document))
) strict;

create table settings (
  id integer primary key check (id = 1),
  document text not null check (json_valid(document)),
  updated_at text not null
) strict;

create table api_configuration (
  id integer primary key check (id = 1),
  document text not null check (json_valid(document)),
  updated_at text not null
) strict;

create table contexts (
  id text primary key,
  user_id text not null references users (id) on delete cascade,
  created_at text not null
) strict;
create index contexts_of_user on contexts (user_id);

create table messages (
  seq integer primary key autoincrement,
  id text not null unique,
  context_id text not null references contexts (id) on delete cascade,
  user_id text not null references users (id) on delete cascade,
  role text not null check (role in ('user', 'assistant')),
  content text not null,
  incomplete integer not null default 0 check (incomplete in (0, 1)),
  model text,
  finish_reason text,
  created_at text not null
) strict;
create index messages_of_context on messages (context_id, seq);
create index messages_of_user on messages (user_id, seq);

create table api_keys (
  id text primary key,
  name text not null,
  hash text not null unique,
  prefix text not null,
  user_id text not null references users (id) on delete cascade,
  tier text not null check (tier in ('free', 'pro', 'enterprise')),
  hourly_limit integer check (hourly_limit > 0),
  created_at text not null,
  last_used_at text,
  revoked_at text
) strict;

insert into users (id, email, email_key, name, metadata, role, permissions, created_at, updated_at)
values ('usr_admin', 'admin@localhost', 'admin@localhost', 'Administrator', '{}', 'admin', '["*:*"]',
  strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), strftime('%Y-%m-%dT%H:%M:%fZ', 'now'));
insert into preferences (user_id, document) values ('usr_admin', '{}');
insert into settings (id, document, updated_at) values (1, '{}', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'));
insert into api_configuration (id, document, updated_at) values (1, '{}', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'));
`,
} as const
