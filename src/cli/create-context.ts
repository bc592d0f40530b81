import type { TransportOptions } from '../auth/transport.ts'
import type { Client } from '../client/client.ts'
import type { ClientOptions } from '../client/client-options.ts'
import type { ApiResponse } from '../client/response.ts'
import type { Configuration } from '../config/configuration-file.ts'
import type { ContextOwner } from '../config/last-context.ts'
import { type DocumentFormat, outputFormats } from '../config/output-formats.ts'
import { type FlagValues, localProfile, type Options } from '../config/resolve-options.ts'
import { readBaseUrl } from '../contract/base-url.ts'
import type { Failure } from '../contract/failure.ts'
import { readEnvironmentCredential } from '../credentials/environment-credential.ts'
import type { Administration } from '../service/administration/administration.ts'
import type { RunningService, ServiceOptions } from '../service/start-service.ts'
import type { DataLocation } from '../service/store/open-store.ts'
import { Directories } from '../system/directories.ts'
import type { View } from '../view/view.ts'
import type { Connection } from './connection.ts'
import { describeFaults } from './describe-faults.ts'
import { HeldRequest } from './held-request.ts'
import { offlineNotice } from './hints.ts'
import { type Host, resolvePath } from './host.ts'
import { Prompter } from './input/prompter.ts'
import { observeClient } from './observe-client.ts'
import { once } from './once.ts'
import {
  type DatabaseFlags,
  defaultDataFolder,
  openToChange,
  openToRead,
  type TellOfOther,
} from './open-data.ts'
import { type OneTimeSecret, Output } from './output/output.ts'
import type { Streams } from './output/streams.ts'
import { resolveConfiguration } from './resolve-configuration.ts'
import { SentChanges } from './sent-changes.ts'
import { adviseOnRefusal, connectionTo, credentialOf, noCredential } from './sign-in/credential-in-use.ts'
import { CredentialStores, ownerOf } from './sign-in/credential-stores.ts'
import { SignedIn, warnOfUnsaved } from './sign-in/signed-in.ts'
import {
  changesService,
  chooseTarget,
  demandNamedService,
  guardLocalChange,
  refuseOtherService,
  type Target,
} from './target.ts'

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
  standsBrokenConfiguration: boolean
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
  lookAround(place: DatabaseFlags, tell?: TellOfOther): Promise<Administration>
  close(): Promise<void>
}

/** Wires everything together: the only place that knows both ends. */
export function createContext(invocation: Invocation): Context {
  const { streams } = invocation
  const { host, signal } = streams
  const { env, clock } = host
  const directories = new Directories(env)
  const fromWorkingDirectory = (name: string) => resolvePath(host, name)
  const { configuration, options, failure } = resolveConfiguration(invocation, env, directories)
  const { fields, jq, quiet, noColor, debug } = invocation
  const { value: asked, source } = options.output
  // A document is not the business of `Output`, but whether its errors are JSON is.
  const form = outputFormats.find((known) => known === asked)
  const output = new Output({ form, isAsked: source === 'flag', fields, jq, quiet, noColor, streams })
  const prompter = new Prompter(streams, invocation)
  const closers: (() => Promise<void>)[] = []

  const target = once(() => chooseTarget(options, () => readEnvironmentCredential(env, fromWorkingDirectory)))
  const stores = new CredentialStores(configuration, directories, output)
  const startLocal = once(() => startLocalService(context, closers))
  const transport = {
    userAgent: invocation.userAgent,
    timeout: options.timeout.source === 'default' ? undefined : options.timeout.value,
    retries: options.retries.value,
    maxWait: options.max_wait.value,
    signal,
    env,
    clock,
    observe: observeClient(output, debug),
  }

  const signedIn = once(() => {
    const to = target()
    if (to.kind === 'local' || to.fromEnvironment || to.profile === undefined) return undefined
    const store = stores.ofProfile(to.profile)
    const owner = ownerOf(to.profile, to.baseUrl)
    return new SignedIn({
      owner,
      store,
      signal,
      clock,
      missing: () => noCredential(to),
      renew: async (held, rejected) => {
        const { renewTokens } = await import('../auth/renew-tokens.ts')
        return renewTokens({
          directories,
          owner,
          store,
          held,
          rejected,
          transport,
          onUnsaved: warnOfUnsaved(output, to.profile),
        })
      },
    })
  })

  const open = async (options: Omit<ClientOptions, keyof typeof transport> & Partial<ClientOptions>) => {
    const { Client } = await import('../client/client.ts')
    const client = new Client({ ...transport, ...options })
    closers.push(() => client.close())
    return client
  }

  const openAdministration = async (place: DataLocation) => {
    refuseOtherService(options)
    const { openAdministration: open } = await import('../service/administration/administration.ts')
    const administration = await open({ ...place, env }, clock)
    closers.push(async () => administration.close())
    return administration
  }

  const resolved = ({ data, database }: DatabaseFlags): DatabaseFlags => ({
    data: data === undefined ? undefined : fromWorkingDirectory(data),
    database,
  })

  const demandOwnDatabase = once(() =>
    openToChange(
      openAdministration,
      directories,
      {},
      ({ url }) => `Change it with: chatctl auth login --base-url ${url}`,
    ),
  )

  let connection: Connection | undefined
  const sentChanges = new SentChanges()
  const connectOnce = async (other: Partial<ClientOptions> = {}) => {
    const to = target()
    connection = connectionTo(to, options)
    // The keychain is another process: it is asked before the network is loaded, and answers meanwhile.
    if (!invocation.dryRun) void adviseOnRefusal(connection, to, signedIn())
    return open({
      ...other,
      observe: other.observe ?? sentChanges.follow(transport.observe),
      ...(to.kind === 'remote'
        ? { baseUrl: to.baseUrl, credential: credentialOf(to, signedIn()) }
        : {
            baseUrl: async () => (await startLocal()).url,
            credential: async () => (await startLocal()).key,
          }),
      gate: async (request) => {
        guardLocalChange(streams, to, request)
        const held = invocation.dryRun === 'all' || (invocation.dryRun && request.method !== 'GET')
        if (held) throw new HeldRequest(request, to.kind === 'remote' ? to.baseUrl : undefined)
        if (to.kind === 'local' && changesService(request)) await demandOwnDatabase()
      },
    })
  }
  let connected: Promise<Client> | undefined

  const context: Context = {
    host,
    env,
    directories,
    streams,
    resolvePath: fromWorkingDirectory,
    options,
    get configuration() {
      return configuration()
    },
    configurationFailure: failure,
    output,
    prompter,
    signal,
    dryRun: invocation.dryRun !== undefined,
    sentChanges,
    target,
    demandNamedService: () => demandNamedService(streams, target()),
    stores,
    signedIn,
    contextOwner: () => {
      const to = target()
      if (to.kind === 'local') return { profile: localProfile, baseUrl: undefined }
      return { profile: options.profile.value, baseUrl: readBaseUrl(to.baseUrl).href }
    },
    connect: (other) => {
      connected ??= connectOnce(other)
      return connected
    },
    connection: () => connection,
    connectTo: (profile, baseUrl, credential) => {
      const refusalHint = 'The credential was not stored. Check it, and sign in again.'
      connection = { baseUrl, baseUrlFrom: 'login', profile, refusalHint }
      return open({ baseUrl, credential })
    },
    transport,
    show: async (view, answer, secret) => {
      if (answer.faults.length > 0) await output.warn(describeFaults(answer.faults))
      if (answer.warning) await output.warn(answer.warning)
      await (secret ? output.showOnce(view, answer.body, secret) : output.show(view, answer.body))
    },
    startService: async ({ dataDir, ...rest }) => {
      refuseOtherService(options)
      const { startService } = await import('../service/start-service.ts')
      const announce = { defaultDirectory: defaultDataFolder(directories), onExit: host.onExit }
      const folder = dataDir === undefined ? directories.data : fromWorkingDirectory(dataDir)
      return startService({ ...rest, dataDir: folder, env, clock, announce, offlineNotice })
    },
    openAdministration: (place) => openToChange(openAdministration, directories, resolved(place)),
    lookAround: (place, tell) => openToRead(openAdministration, directories, resolved(place), output, tell),
    close: async () => {
      for (const closer of closers.reverse()) await closer()
    },
  }
  return context
}

/** The embedded service on a free loopback port of this process, for as long as the command runs. */
async function startLocalService({ host, directories, output }: Context, closers: (() => Promise<void>)[]) {
  const { startService } = await import('../service/start-service.ts')
  const { env, clock } = host
  const service = await startService({ dataDir: directories.data, env, clock, offlineNotice })
  closers.push(() => service.close())
  if (service.created) output.notice(`Using the embedded service. Its data is in ${service.dataDir}`)
  return { url: service.url, key: service.createProcessKey() }
}
