import type { IdentitySource } from '../../auth/credentials/identity-source.ts'
import type { StoredCredential, TokenSet } from '../../auth/credentials/stored-credential.ts'
import type { HeldCredential } from '../../auth/held-credential.ts'
import type { Renewal } from '../../auth/renew-tokens.ts'
import type { RenewingCredential } from '../../auth/renewing-credential.ts'
import type { TransportOptions } from '../../auth/transport.ts'
import type { Client } from '../../client/client.ts'
import type { ClientOptions } from '../../client/client-options.ts'
import type { ApiResponse } from '../../client/response/response.ts'
import type { Configuration } from '../../config/configuration-file.ts'
import type { ContextOwner } from '../../config/last-context.ts'
import type { DocumentFormat, OutputFormat } from '../../config/output-formats.ts'
import type { FlagValues, Options } from '../../config/resolve-options.ts'
import type { UpstreamChoice, UpstreamFlags } from '../../config/resolve-upstream.ts'
import type { Failure } from '../../contract/failure.ts'
import type { LocalModelServer } from '../../contract/upstream-address.ts'
import type { Administration } from '../../service/administration/administration.ts'
import type { JoinableService } from '../../service/find-joinable-service.ts'
import type { RunningService, ServiceOptions } from '../../service/start-service.ts'
import type { DetectedModelServer } from '../../service/upstream/detect-model-servers.ts'
import type { Directories } from '../../system/files/directories.ts'
import type { View } from '../../view/format/view.ts'
import type { CredentialStores } from '../credential/credential-stores.ts'
import type { Host } from '../host.ts'
import type { Prompter } from '../input/prompter.ts'
import type { OneTimeSecret, Output } from '../output/output.ts'
import type { Streams } from '../output/streams.ts'
import type { Connection } from './connection.ts'
import type { DatabaseFlags, OnOtherService } from './open-data.ts'
import type { SentChanges } from './sent-changes.ts'
import type { Target } from './target.ts'

/** The shared options of a command line. */
export interface Invocation {
  streams: Streams
  /** As typed: `users update`. */
  command: string
  flags: FlagValues
  fields: string | undefined
  jq: string | undefined
  quiet: boolean
  debug: boolean
  noInput: boolean
  noColor: boolean
  /** Which requests to hold back. */
  dryRun: 'changes' | 'all' | undefined
  mayNameNewProfile: boolean
  takesProfileOfAddress: boolean
  toleratesInvalidConfiguration: boolean
  formats: readonly (OutputFormat | DocumentFormat)[]
  userAgent: string
}

/** What a command works with. Everything is opened and loaded on demand. */
export interface Context {
  readonly host: Host
  readonly env: NodeJS.ProcessEnv
  readonly directories: Directories
  readonly streams: Streams
  /** Resolves a file name against the working directory of the run. */
  resolvePath(name: string): string
  readonly options: Options
  readonly configuration: Configuration
  /** Why the configuration is not used, for the commands that tolerate that. */
  readonly configurationFailure: Failure | undefined
  readonly output: Output
  readonly prompter: Prompter
  readonly signal: AbortSignal
  readonly dryRun: boolean
  readonly sentChanges: SentChanges
  /** The service that requests go to, and the credential from the environment. */
  target(): Target
  /** @throws Failure `usage` if a non-interactive run would change the embedded service without selecting it */
  demandNamedService(): void
  /** Where the credentials of the profiles are stored. */
  readonly stores: CredentialStores
  /** The stored credential of the profile; undefined if none or another credential is used. */
  signedIn(): RenewingCredential | undefined
  /** The credential that this run obtains from a command or the CI; undefined if another one is used. */
  held(): HeldCredential | undefined
  /** Replaces a stored credential. @throws Failure `unauthorized` if the user must sign in again */
  renewTokens(renewal: Renewal): Promise<StoredCredential>
  /** Exchanges the identity token of the CI job for an access token, which is stored nowhere. */
  exchangeIdentity(source: IdentitySource, baseUrl: string): Promise<TokenSet>
  /** Whose last conversation `--continue` continues. */
  contextOwner(): ContextOwner
  /**
   * Always returns the same client.
   *
   * @param overrides options of the client, used by the first call; `observe` replaces the lines on stderr
   * @throws Failure `unauthorized` without a credential
   */
  connect(overrides?: Pick<ClientOptions, 'observe' | 'maxWait' | 'signal' | 'timeout'>): Promise<Client>
  /** The service that `connect` or `connectTo` has connected to. */
  connection(): Connection | undefined
  /** The service that a profile is being signed in to, with a credential that is not stored yet. */
  connectTo(profile: string, baseUrl: string, credential: string): Promise<Client>
  /** Options of requests to an authorization server. */
  readonly transport: TransportOptions & { signal: AbortSignal }
  /** Shows the response of a documented endpoint, with warnings about it. */
  show(view: View, response: ApiResponse<unknown>, secret?: OneTimeSecret): Promise<void>
  /** The PostgreSQL URL: that of a flag, or else that in the file which the environment names. */
  databaseOf(given: string | undefined): string | undefined
  /** Starts the embedded service, with a file by which commands on this machine find it. */
  startService(
    options: Omit<ServiceOptions, 'dataDir' | 'announce' | 'upstream'> & {
      dataDir?: string | undefined
      upstream: UpstreamChoice
    },
  ): Promise<RunningService>
  /**
   * The model server of the embedded service.
   *
   * @param flags those of the command, if it has any
   */
  upstream(flags?: UpstreamFlags): UpstreamChoice
  /** Stores the choice of a person. It also applies to this run if it cannot be stored. @throws Failure `storage` */
  rememberUpstream(value: string): Promise<void>
  /** The service that would answer requests to the embedded service, if it already runs. */
  findRunningService(): Promise<JoinableService | undefined>
  /** The model servers that run on this machine (default: of those that are known). */
  detectModelServers(servers?: readonly LocalModelServer[]): Promise<DetectedModelServer[]>
  /** Asks a model server for its models, without the embedded service. @throws Failure `unreachable`, `config` */
  countUpstreamModels(server: NonNullable<UpstreamChoice['server']>): Promise<number>
  /**
   * Opens the data of the embedded service for a change.
   *
   * @throws Failure `usage` if the service on this machine uses another database
   */
  openAdministration(place: DatabaseFlags): Promise<Administration>
  /** Opens the data to look only for the service that runs on it. */
  openToFindService(place: DatabaseFlags): Promise<Administration>
  /** Opens the data to read it. Warns of a service on another database. */
  openToInspect(place: DatabaseFlags): Promise<Administration>
  /** The same for the data of the profile `local`, which no flag or environment variable names. */
  openOwnToInspect(onOther: OnOtherService): Promise<Administration>
  close(): Promise<void>
}
