/** For teams: permissions and expiry of keys, sign-in, and the audit log. */
export const team = {
  number: 2,
  name: 'team',
  checksum: '1c15b6f11af1c2819d599585a744ee155757a094ab207ed9d1f15b48914e7c43',
  statements: `
alter table api_keys add column permissions text;
alter table api_keys add column expires_at text;

create table audit_log (
  seq integer primary key autoincrement,
  at text not null,
  actor text not null,
  key_id text,
  action text not null,
  target text not null,
  before text,
  after text,
  request_id text
) strict;
create index audit_log_by_time on audit_log (at);

create table oauth_records (
  model text not null,
  id_hash text not null,
  payload text not null,
  uid_hash text,
  user_code_hash text,
  grant_hash text,
  user_id text references users (id) on delete cascade,
  consumed_at integer,
  expires_at integer,
  created_at text not null,
  primary key (model, id_hash)
) strict;
create index oauth_records_by_uid on oauth_records (uid_hash);
create index oauth_records_by_grant on oauth_records (grant_hash);
create index oauth_records_by_user on oauth_records (user_id);
create index oauth_records_by_end on oauth_records (expires_at);

create table service_secrets (
  name text primary key,
  value text not null,
  created_at text not null
) strict;

create table sign_in_failures (
  subject text primary key,
  failures integer not null,
  last_failure_at integer not null,
  locked_until integer
) strict;

create table second_factors (
  user_id text primary key references users (id) on delete cascade,
  secret text not null,
  confirmed_at text,
  last_step integer
) strict;
`,
} as const
