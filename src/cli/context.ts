import type { TransportOptions } from '../auth/transport.ts'
import type { Client } from '../client/client.ts'
import type { ClientOptions } from '../client/client-options.ts'
import type { ApiResponse } from '../client/response.ts'
import type { Configuration } from '../config/configuration-file.ts'
import type { ContextOwner } from '../config/last-context.ts'
import type { DocumentFormat } from '../config/output-formats.ts'
import type { FlagValues, Options } from '../config/resolve-options.ts'
import type { Failure } from '../contract/failure.ts'
import type { Administration } from '../service/administration/administration.ts'
import type { RunningService, ServiceOptions } from '../service/start-service.ts'
import type { Directories } from '../system/directories.ts'
import type { View } from '../view/view.ts'
import type { Connection } from './connection.ts'
import type { Host } from './host.ts'
import type { Prompter } from './input/prompter.ts'
import type { DatabaseFlags, OnOtherService } from './open-data.ts'
import type { OneTimeSecret, Output } from './output/output.ts'
import type { Streams } from './output/streams.ts'
import type { SentChanges } from './sent-changes.ts'
import type { CredentialStores } from './sign-in/credential-stores.ts'
import type { SignedIn } from './sign-in/signed-in.ts'
import type { Target } from './target.ts'

/** What a command line said to all commands alike. */
export interface Invocation {
  streams: Streams
  flags: FlagValues
  fields: string | undefined
  jq: string | undefined
  quiet: boolean
  debug: boolean
  noInput: boolean
  noColor: boolean
  /** Hold back what changes something, or everything. */
  dryRun: 'changes' | 'all' | undefined
  mayNameNewProfile: boolean
  takesProfileOfAddress: boolean
  toleratesInvalidConfiguration: boolean
  documentFormats: readonly DocumentFormat[] | undefined
  userAgent: string
}

/** What a command works with. Nothing is opened or loaded before it is asked for. */
export interface Context {
  readonly host: Host
  readonly env: NodeJS.ProcessEnv
  readonly directories: Directories
  readonly streams: Streams
  /** The path by which the system finds what a person names. */
  resolvePath(name: string): string
  readonly options: Options
  readonly configuration: Configuration
  /** Why the configuration is not in force, for the commands that stand that. */
  readonly configurationFailure: Failure | undefined
  readonly output: Output
  readonly prompter: Prompter
  readonly signal: AbortSignal
  readonly dryRun: boolean
  readonly sentChanges: SentChanges
  /** Where the requests go, and with which key; the same rules for every command. */
  target(): Target
  /** @throws Failure `usage` where a change of the embedded service must name it and does not */
  demandNamedService(): void
  /** Where the profiles' credentials are kept. */
  readonly stores: CredentialStores
  /** The profile's own credential; undefined where none or another is used. */
  signedIn(): SignedIn | undefined
  /** Whose last conversation `--continue` goes on with. */
  contextOwner(): ContextOwner
  /**
   * @param other what the client does otherwise than the options say; `observe` is told what it
   *   does, in place of the lines on stderr. Only the first call is heard.
   * @throws Failure `unauthorized` where there is no credential
   */
  connect(other?: Pick<ClientOptions, 'observe' | 'maxWait' | 'signal' | 'timeout'>): Promise<Client>
  /** The service that `connect` or `connectTo` has connected to, as errors name it. */
  connection(): Connection | undefined
  /** The service that a profile is being signed in to, with a credential that is not stored yet. */
  connectTo(profile: string, baseUrl: string, credential: string): Promise<Client>
  /** What requests to an authorization server have in common with all others. */
  readonly transport: TransportOptions & { signal: AbortSignal }
  /** Shows the answer of a documented endpoint, and says what is odd about it. */
  show(view: View, answer: ApiResponse<unknown>, secret?: OneTimeSecret): Promise<void>
  /** Starts the embedded service, with a record by which commands on this machine find it. */
  startService(
    options: Omit<ServiceOptions, 'dataDir' | 'announce'> & { dataDir?: string | undefined },
  ): Promise<RunningService>
  /**
   * @param place what `--data` and `--database` say
   * @throws Failure `usage` where the service on this machine uses another database
   */
  openAdministration(place: DatabaseFlags): Promise<Administration>
  /** The same for a command that only reads. Warns of a service on another database, or tells `tell`. */
  openToInspect(place: DatabaseFlags, tell?: OnOtherService): Promise<Administration>
  close(): Promise<void>
}
