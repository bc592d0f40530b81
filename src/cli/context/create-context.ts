import type { Client } from '../../client/client.ts'
import type { ClientOptions } from '../../client/client-options.ts'
import { changeConfiguration, profileId } from '../../config/configuration-file.ts'
import { withValue } from '../../config/configuration-keys.ts'
import { defaultFormats } from '../../config/output-formats.ts'
import { localProfile } from '../../config/resolve-options.ts'
import { resolveUpstream, type UpstreamChoice } from '../../config/resolve-upstream.ts'
import { readBaseUrl } from '../../contract/base-url.ts'
import type { DataLocation } from '../../service/store/open-store.ts'
import { Directories } from '../../system/files/directories.ts'
import { listRunRecords } from '../../system/files/run-record-files.ts'
import { once } from '../../system/once.ts'
import { commandLine } from '../command-line.ts'
import { adviseOnRefusal, connectionTo, credentialOf } from '../credential/credential-in-use.ts'
import { CredentialStores } from '../credential/credential-stores.ts'
import {
  exchangeOptions,
  heldCredentialOf,
  renewingCredentialOf,
} from '../credential/credentials-of-target.ts'
import { ExpiryWarning } from '../credential/expiry-warning.ts'
import { offlineNotices } from '../errors/hints.ts'
import { warnOfResponse } from '../errors/response-warnings.ts'
import { resolveNewPath, resolvePath } from '../host.ts'
import { Prompter } from '../input/prompter.ts'
import { Output } from '../output/output.ts'
import { ChangeRecording } from './change-recording.ts'
import type { Connection } from './connection.ts'
import type { Context, Invocation } from './context.ts'
import { describeLocalService } from './describe-local-service.ts'
import { HeldRequest } from './held-request.ts'
import { LocalServices } from './local-service.ts'
import { observeClient } from './observe-client.ts'
import {
  type DatabaseFlags,
  defaultDataDirectory,
  openToChange,
  openToRead,
  readDatabaseFile,
} from './open-data.ts'
import { resolveConfiguration } from './resolve-configuration.ts'
import { SentChanges } from './sent-changes.ts'
import {
  changesService,
  chooseTarget,
  demandNamedService,
  environmentReader,
  guardLocalChange,
  isChange,
  refuseOtherService,
} from './target.ts'

/** Wires everything together. */
export function createContext(invocation: Invocation): Context {
  const { streams } = invocation
  const { host, signal } = streams
  const { env, clock } = host
  const directories = new Directories(env)
  const fromWorkingDirectory = (name: string) => resolvePath(host, name)
  const asked = { ...invocation, workingDirectory: fromWorkingDirectory('.') }
  const { configuration, options, failure } = resolveConfiguration(asked, env, directories)
  const { fields, jq, quiet, noColor, debug } = invocation
  const { value: requested, source } = options.output
  // Undefined for the format of a document, which `Output` does not render.
  const format = defaultFormats.find((known) => known === requested)
  const output = new Output({ format, isExplicit: source === 'flag', fields, jq, quiet, noColor, streams })
  const prompter = new Prompter(streams, invocation)
  const cleanups: (() => Promise<void>)[] = []

  const recording = new ChangeRecording({
    load: async () => (await import('../../activity/change-recorder.ts')).ChangeRecorder,
    run: () => {
      const { baseUrl: service = 'local' } = context.contextOwner()
      const profile = service === 'local' ? localProfile : (options.profile.value ?? null)
      return { profile, service, command: invocation.command }
    },
    directories,
    clock,
    output,
  })
  // Closed last, because closing the client may decide the outcome of a change.
  cleanups.push(() => recording.close())

  const target = once(() =>
    chooseTarget(options, environmentReader(env, fromWorkingDirectory, options.timeout.value)),
  )
  const stores = new CredentialStores(configuration, directories, output)
  let answer: string | undefined
  const upstream: Context['upstream'] = (flags = { name: '' }) => {
    const known = configuration()
    const stored = answer === undefined ? known : withValue(known, null, 'upstream', answer)
    return resolveUpstream(flags, env, stored, fromWorkingDirectory)
  }
  const local = new LocalServices({
    find: async () => {
      const directory = defaultDataDirectory(directories)
      if (directory === undefined || listRunRecords(directory).length === 0) return undefined
      const { findJoinableService } = await import('../../service/find-joinable-service.ts')
      return findJoinableService(directory)
    },
    open: (choice) => openLocalService(context, choice, cleanups),
    chooseUpstream: upstream,
    onAnswering: (service) => {
      if (connection) connection.localService = service
      if (debug) streams.say(describeLocalService(service))
    },
  })
  const transport = {
    userAgent: invocation.userAgent,
    timeout: options.timeout.source === 'default' ? undefined : options.timeout.value,
    retries: options.retries.value,
    maxWait: options.max_wait.value,
    signal,
    env,
    clock,
    // A trace shows waits and retries itself.
    observe: debug ? undefined : observeClient(output),
    trace: debug
      ? once(async () => {
          const { Trace } = await import('../../client/trace.ts')
          const { describeTrace } = await import('../errors/describe-trace.ts')
          const trace = new Trace((event) => streams.sayStyled(describeTrace(event)))
          cleanups.push(async () => trace.finish())
          return trace
        })
      : undefined,
  }

  const signedIn = once(() => renewingCredentialOf(context))
  const held = once(() => heldCredentialOf(context))

  const open = async (options: Omit<ClientOptions, keyof typeof transport> & Partial<ClientOptions>) => {
    const { Client } = await import('../../client/client.ts')
    const client = new Client({ ...transport, ...options })
    cleanups.push(() => client.close())
    return client
  }

  const openAdministration = async (place: DataLocation) => {
    refuseOtherService(options)
    const { openAdministration: open } = await import('../../service/administration/administration.ts')
    const administration = await open({ ...place, env }, clock)
    cleanups.push(async () => administration.close())
    return administration
  }

  const databaseOf = (given: string | undefined) => given ?? readDatabaseFile(env, fromWorkingDirectory)

  const resolved = ({ data, database }: DatabaseFlags): DatabaseFlags => ({
    data: data === undefined ? undefined : resolveNewPath(host, data),
    database: databaseOf(database),
  })

  const demandOwnDatabase = once(() =>
    openToChange(
      openAdministration,
      directories,
      {},
      ({ url }) => `Change it with: ${commandLine('auth', 'login', '--base-url', url)}`,
    ),
  )

  let connection: Connection | undefined
  const sentChanges = new SentChanges()
  const connectOnce = async (overrides: Partial<ClientOptions> = {}) => {
    const to = target()
    connection = connectionTo(to, options)
    // The keychain is read in another process, at the same time as the network module is loaded.
    if (!invocation.dryRun) void adviseOnRefusal(connection, to, signedIn())
    const expiry = new ExpiryWarning(clock)
    cleanups.push(() => expiry.warn(output, to, { signedIn: signedIn(), held: held() }))
    return open({
      ...overrides,
      observe: expiry.follow(overrides.observe ?? sentChanges.follow(transport.observe)),
      ...(to.kind === 'remote'
        ? { baseUrl: to.baseUrl, credential: credentialOf(to, signedIn(), held()) }
        : {
            baseUrl: async () => (await local.next()).url,
            credential: async () => local.answering?.key,
            handler: () => local.answering?.handle,
          }),
      gate: async (request) => {
        guardLocalChange(streams, to, request)
        const held = invocation.dryRun === 'all' || (invocation.dryRun && request.method !== 'GET')
        if (held) throw new HeldRequest(request, to.kind === 'remote' ? to.baseUrl : undefined)
        if (to.kind === 'local' && changesService(request)) await demandOwnDatabase()
        return isChange(request) ? recording.begin(request) : undefined
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
    held,
    renewTokens: async (renewal) => (await import('../../auth/renew-tokens.ts')).renewTokens(renewal),
    exchangeIdentity: async (source, baseUrl) => {
      const { exchangeIdentity } = await import('../../auth/exchange-identity.ts')
      return exchangeIdentity(exchangeOptions(context, source, baseUrl))
    },
    contextOwner: () => {
      const to = target()
      if (to.kind === 'local') return { profile: localProfile, baseUrl: undefined }
      const { value: name } = options.profile
      const profile = name === undefined ? undefined : profileId(configuration(), name)
      return { profile, baseUrl: readBaseUrl(to.baseUrl).href }
    },
    connect: (overrides) => {
      connected ??= connectOnce(overrides)
      return connected
    },
    connection: () => connection,
    connectTo: (profile, baseUrl, credential) => {
      const refusalHint = 'The credential was not stored. Check it, and sign in again.'
      connection = { baseUrl, baseUrlFrom: 'login', profile, refusalHint }
      return open({ baseUrl, credential })
    },
    transport,
    show: async (view, response, secret) => {
      await warnOfResponse(response, output)
      await (secret ? output.showOnce(view, response.body, secret) : output.show(view, response.body))
    },
    upstream,
    rememberUpstream: async (value) => {
      answer = value
      await changeConfiguration(directories, (known) => withValue(known, null, 'upstream', value))
    },
    findRunningService: () => local.find(),
    detectModelServers: async (servers = host.modelServers) => {
      const { detectModelServers } = await import('../../service/upstream/detect-model-servers.ts')
      return detectModelServers(servers)
    },
    countUpstreamModels: async (server) => {
      const { countModels } = await import('../../service/upstream/count-models.ts')
      return countModels(server, clock, signal)
    },
    startService: async ({ dataDir, upstream: { server }, ...rest }) => {
      refuseOtherService(options)
      const { startService } = await import('../../service/start-service.ts')
      const announce = { defaultDirectory: defaultDataDirectory(directories), onExit: host.onExit }
      const directory = dataDir === undefined ? directories.data : resolveNewPath(host, dataDir)
      const { running: offlineNotice } = offlineNotices
      return startService({
        ...rest,
        dataDir: directory,
        upstream: server,
        env,
        clock,
        announce,
        offlineNotice,
      })
    },
    databaseOf,
    openAdministration: (place) => openToChange(openAdministration, directories, resolved(place)),
    openToFindService: (place) => {
      const { data = directories.data, database } = resolved(place)
      return openAdministration({ dataDir: data, database })
    },
    openToInspect: (place) => openToRead(openAdministration, directories, resolved(place), output),
    openOwnToInspect: (tell) => openToRead(openAdministration, directories, {}, output, tell),
    close: async () => {
      for (const closer of cleanups.reverse()) await closer()
    },
  }
  return context
}

/** Opens the embedded service in this process until the command ends. */
async function openLocalService(
  { host, directories, output }: Context,
  { server }: UpstreamChoice,
  cleanups: (() => Promise<void>)[],
) {
  const { openEmbeddedService } = await import('../../service/open-embedded-service.ts')
  const { env, clock } = host
  const { local: offlineNotice } = offlineNotices
  const { data: dataDir } = directories
  const service = await openEmbeddedService({ dataDir, upstream: server, env, clock, offlineNotice })
  cleanups.push(() => service.close())
  if (service.created) output.notice(`Using the embedded service. Its data is in ${service.dataDir}`)
  return { key: service.key, handle: service.request }
}
