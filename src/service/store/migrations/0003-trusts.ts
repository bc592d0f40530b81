/** Trusts in issuers of identity tokens. An access token of a trust is an API key that refers to it. */
export const trusts = {
  number: 3,
  name: 'trusts',
  checksum: 'f803d2a493b4e9dbddaf0003847d84d953bad367bc06cf9788bd3239adee4e2f',
  statements: `
create table trusts (
  id text primary key,
  name text not null unique,
  issuer text not null,
  audience text not null,
  subject text not null,
  permissions text not null check (json_valid(permissions)),
  user_id text not null references users (id) on delete cascade,
  tier text not null check (tier in ('free', 'pro', 'enterprise')),
  hourly_limit integer check (hourly_limit > 0),
  token_lifetime integer not null check (token_lifetime > 0),
  created_at text not null,
  last_used_at text
) strict;
create index trusts_by_issuer on trusts (issuer);

alter table api_keys add column trust_id text references trusts (id) on delete cascade;
create index api_keys_of_trust on api_keys (trust_id);
`,
} as const
