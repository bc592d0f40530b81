/**
 * A hint for a failure, as a code with data. `cli/errors/hints.ts` has the text, because only the command line
 * knows flags and commands.
 */
export type Advice = { [Code in keyof AdviceData]: { code: Code } & AdviceData[Code] }[keyof AdviceData]

type NoData = Record<never, never>

/** A server of the embedded service: the one for clients, or the one for metrics and health. */
export type Listener = 'service' | 'admin'

/** The data of each advice, by code. */
export interface AdviceData {
  /** A timeout of this many milliseconds has passed. */
  longer_timeout: { ms: number }
  /** The service asks for a wait of this many milliseconds, until a time as in ISO 8601. */
  longer_wait: { ms: number; until: string }
  /** The response is an HTML page, for example from a captive portal or another path of the host. */
  web_page: NoData
  /** The address of the same server with the scheme that it speaks. */
  other_scheme: { url: string }
  /** A proxy does not work. `variable` names it, and `host` is that of the address. */
  bypass_proxy: { variable: string; host: string }
  /** Other users can write to a file that must be the user's alone. */
  only_owner_writes: { path: string; owner: number | undefined }
  /** No service answers at the base URL. */
  check_address: { origin: string }
  /** The output format that was probably meant. */
  output_format: { format: string }
  list_prompts: NoData
  set_base_url: { profile: string }
  unset_model: { profile: string }
  /** The credential cannot be a header. */
  unusable_credential: NoData
  /** @param scope of the new sign-in (default: that of the profile) */
  sign_in_again: { profile: string; scope?: string | undefined }
  /** The stored address of the token endpoint is not usable. */
  find_token_endpoint_again: { profile: string }
  /** The stored credential of the profile cannot be read. */
  replace_credential: { profile: string }
  create_profile: { profile: string }
  list_profiles: NoData
  create_keyring: NoData
  no_keychain: NoData
  reinstall_for_keychain: NoData
  other_redirect_port: NoData
  /** The loopback address of the other IP version. */
  other_redirect_host: { host: string }
  known_scope: NoData
  /** The server refuses the scope for a sign-in on another device, and perhaps only there. */
  scope_of_device: NoData
  sign_in_conflict: NoData
  issuer_mismatch: NoData
  no_callback: { redirectUri: string }
  new_device_code: NoData
  name_token_endpoint: NoData
  name_issuer: NoData
  /** The metadata has no token endpoint for an identity token, or one that must not receive it. */
  token_endpoint_of_exchange: NoData
  foreign_token_endpoint: { tokenEndpoint: string }
  client_id_of_exchange: NoData
  /** How a CI job gets an identity token. */
  github_id_token: NoData
  gitlab_id_token: { audience: string }
  expired_identity_token: NoData
  /** The identity token is for another audience than the service. */
  audience_of_identity_token: { audience: string }
  /** The service may not trust the issuer of an identity token. */
  trust_issuer: { issuer: string; subject: string; audience: string }
  /** A credential command has failed. */
  check_credential_command: { line: string; profile: string }
  other_port: { listener: Listener }
  /** Services run on data that must not be in use. */
  end_services: { processIds: readonly number[] }
  unprivileged_port: { listener: Listener }
  encrypt: NoData
  set_model_server: NoData
  /** `meant`: the name of a model server that was probably meant. */
  model_server_address: { meant: string | undefined }
  /** The database does not exist, or has another encoding. */
  create_database: { exists: boolean }
  back_up_postgres: NoData
  back_up_again: NoData
  replace_file: NoData
  migrate: NoData
  migrate_in_use: NoData
  database_or_directory: NoData
  reset_password: { email: string }
  make_admin: { userId: string }
  create_admin: NoData
  enable_user: { email: string }
  list_keys: NoData
  list_users: NoData
  create_key: NoData
  list_sign_ins: NoData
  list_trusts: NoData
  revoke_trust: { name: string }
  start_service: NoData
  /** A service runs on another database. */
  check_other_service: { url: string; place: string }
  /** A file is too large for a message. */
  larger_files: NoData
  list_sessions: NoData
  /** The sessions of every connection. */
  list_all_sessions: NoData
  longer_session_id: NoData
  close_session: NoData
  /** The session belongs to this profile, or to this service, or to the embedded one. */
  name_service_of_session: { session: string; baseUrl: string | null; profile?: string | undefined }
  make_seal_key: NoData
  give_seal_key: NoData
  approve_plan: NoData
  install_openssh: NoData
  save_new_plan: NoData
  other_plan_file: NoData
  /** The command that shows the settings. */
  check_settings: { command: string }
  /** Where the passwords of new users come from. */
  new_passwords: NoData
  save_users_plan: NoData
  /** A plan of users needs the generation of the state file that it was made with. */
  state_of_plan: NoData
  /** The id of the state file belongs to a user with another email. */
  other_email: NoData
  merge_states: NoData
  /** The state file is for another service. */
  service_of_state: NoData
  /** The id of this email is not in the state file. */
  adopt_email: { email: string; state: string }
  /** As `longer_wait`. `total` is the whole wait of the import; null if it exceeds the maximum of the flag. */
  longer_total_wait: { ms: number; until: string; total: number | null }
  no_unknown_row: NoData
  /** Positions of rows, separated by commas. */
  name_unknown_row: { places: string }
  other_results_file: NoData
  move_results_file: NoData
  skip_invalid: { faults: number }
  restore_results: NoData
  json_lines: NoData
  /** A user exists that the state file does not have. The service may have named its id. */
  adopt_existing: { email: string; id: string | undefined }
  /** It is not known where the passwords of new users come from. */
  choose_passwords: NoData
}
