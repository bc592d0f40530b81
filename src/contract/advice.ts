/**
 * A hint for a failure, as a code with data, if its layer does not know flags and commands, or must not quote them.
 * `cli/errors/hints.ts` has the text.
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
  foreign_token_endpoint: { tokenEndpoint: string }
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
  /** The session belongs to this profile, or to this service, or to the embedded one. */
  name_service_of_session: { session: string; baseUrl: string | null; profile?: string | undefined }
  make_seal_key: NoData
  give_seal_key: NoData
  approve_plan: NoData
  install_openssh: NoData
  other_plan_file: NoData
  /** The command that shows the settings. */
  check_settings: { command: string }
  /** The id of this email is not in the state file. */
  adopt_email: { email: string; state: string }
  /** As `longer_wait`. `total` is the whole wait of the import; null if it exceeds the maximum of the flag. */
  longer_total_wait: { ms: number; until: string; total: number | null }
  /** A user exists that the state file does not have. The service may have named its id. */
  adopt_existing: { email: string; id: string | undefined }
}
