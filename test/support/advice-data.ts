import type { AdviceData } from '../../src/contract/advice.ts'

/** Data for each hint that has some. Names have a space, if a person or a service chooses them. */
export const adviceData: {
  [Code in keyof AdviceData as keyof AdviceData[Code] extends never ? never : Code]: AdviceData[Code]
} = {
  longer_timeout: { ms: 1 },
  longer_wait: { ms: 1, until: '2026-01-31T08:00:00Z' },
  other_scheme: { url: 'https://chat.example' },
  bypass_proxy: { variable: 'HTTPS_PROXY', host: 'a b' },
  check_address: { origin: 'http://127.0.0.1:8787' },
  only_owner_writes: { path: 'a b', owner: 1000 },
  set_base_url: { profile: 'a b' },
  unset_model: { profile: 'a b' },
  sign_in_again: { profile: 'a b' },
  find_token_endpoint_again: { profile: 'a b' },
  replace_credential: { profile: 'a b' },
  create_profile: { profile: 'a b' },
  foreign_token_endpoint: { tokenEndpoint: 'a b' },
  audience_of_identity_token: { audience: 'https://chat.example' },
  trust_issuer: { issuer: 'a b', subject: 'a b', audience: 'a b' },
  check_credential_command: { line: 'pass show', profile: 'a b' },
  other_port: { listener: 'service' },
  end_services: { processIds: [1] },
  unprivileged_port: { listener: 'service' },
  model_server_address: { meant: 'ollama' },
  create_database: { exists: true },
  reset_password: { email: 'a b' },
  make_admin: { userId: 'a b' },
  enable_user: { email: 'a b' },
  revoke_trust: { name: 'a b' },
  check_other_service: { url: 'http://127.0.0.1/', place: '/a b/chatctl.db' },
  name_service_of_session: { session: 'a b', baseUrl: 'a b' },
  check_settings: { command: 'chatctl settings get' },
  adopt_email: { email: 'a b', state: 'a b' },
  adopt_existing: { email: 'a b', id: 'a b' },
  longer_total_wait: { ms: 1, until: '2026-01-31T08:00:00Z', total: null },
}
