import type { Answer } from '../client/answer.ts'
import type { Client } from '../client/client.ts'
import { type Configuration, readConfiguration } from '../config/configuration-file.ts'
import type { ContextOwner } from '../config/last-context.ts'
import { dataFolder } from '../config/paths.ts'
import { type FlagValues, localProfile, type Options, resolveOptions } from '../config/resolve-options.ts'
import { readBaseUrl } from '../contract/base-url.ts'
import type { Fault } from '../contract/faults.ts'
import { type Credential, readCredential } from '../credentials/read-credential.ts'
import { Failure } from '../failure.ts'
import type { Administration } from '../service/administration.ts'
import type { RunningService, ServiceOptions } from '../service/start-service.ts'
import type { View } from '../view/view.ts'
import { HeldRequest } from './held-request.ts'
import { Prompter } from './input/prompter.ts'
import { interruption } from './interruption.ts'
import { observeClient } from './observe-client.ts'
import { type OneTimeSecret, Output } from './output/output.ts'
import { chooseTarget, guardLocalChange, type Target } from './target.ts'

/** What a command line said to all commands alike. */
export interface Invocation {
  flags: FlagValues
  fields: string | undefined
  jq: string | undefined
  quiet: boolean
  debug: boolean
  noInput: boolean
  noColour: boolean
  /** Hold back what changes something, or everything. */
  dryRun: 'changes' | 'all' | undefined
  mayNameNewProfile: boolean
  standsBrokenConfiguration: boolean
  userAgent: string
}

/** What a command works with. Nothing is opened or loaded before it is asked for. */
export interface Context {
  readonly options: Options
  readonly configuration: Configuration
  /** Why the configuration is not in force, for the commands that stand that. */
  readonly configurationFailure: Failure | undefined
  readonly output: Output
  readonly prompter: Prompter
  readonly signal: AbortSignal
  readonly dryRun: boolean
  /** Where the requests go, and with which key; the same rules for every command. */
  target(): Target
  /** Where the credential comes from. @throws Failure `unauthorized` where there is none */
  credentialSource(): string
  /** Whose last conversation `--continue` goes on with. */
  contextOwner(): ContextOwner
  /** @throws Failure `unauthorized` where there is no credential */
  connect(): Promise<Client>
  /** Shows the answer of a documented endpoint, and says what is odd about it. */
  show(view: View, answer: Answer<unknown>, secret?: OneTimeSecret): Promise<void>
  startService(
    options: Omit<ServiceOptions, 'dataDir'> & { dataDir?: string | undefined },
  ): Promise<RunningService>
  openAdministration(dataDir: string | undefined): Promise<Administration>
  close(): Promise<void>
}

/** Wires everything together: the only place that knows both ends. */
export function createContext(invocation: Invocation): Context {
  const { env } = process
  const { configuration, options, failure } = resolve(invocation, env)
  const { fields, jq, quiet, noColour, debug } = invocation
  const { value: form, source } = options.output
  const output = new Output({ form, isAsked: source === 'flag', fields, jq, quiet, noColour, env })
  const prompter = new Prompter({ noInput: invocation.noInput, signal: interruption })
  const closers: (() => Promise<void>)[] = []

  const target = once(() => chooseTarget(options, () => readCredential(env)))
  const startLocal = once(() => startLocalService(output, closers))

  const connect = once(async () => {
    const to = target()
    const secret = to.kind === 'remote' ? demandCredential(to).secret : undefined
    const { Client } = await import('../client/client.ts')
    const client = new Client({
      baseUrl: to.kind === 'remote' ? to.baseUrl : async () => (await startLocal()).url,
      credential: secret ?? (async () => (await startLocal()).key),
      userAgent: invocation.userAgent,
      timeout: options.timeout.value,
      retries: options.retries.value,
      maxWait: options.max_wait.value,
      signal: interruption,
      gate: (request) => {
        guardLocalChange(to, request)
        const held = invocation.dryRun === 'all' || (invocation.dryRun && request.method !== 'GET')
        if (held) throw new HeldRequest(request, to.kind === 'remote' ? to.baseUrl : undefined)
      },
      observe: observeClient(output, debug),
    })
    closers.push(() => client.close())
    return client
  })

  return {
    options,
    configuration,
    configurationFailure: failure,
    output,
    prompter,
    signal: interruption,
    dryRun: invocation.dryRun !== undefined,
    target,
    credentialSource: () => {
      const to = target()
      return to.kind === 'local' ? 'a key of this process alone' : demandCredential(to).source
    },
    contextOwner: () => {
      const to = target()
      if (to.kind === 'local') return { profile: localProfile, baseUrl: undefined }
      return { profile: options.profile.value, baseUrl: readBaseUrl(to.baseUrl).href }
    },
    connect,
    show: async (view, answer, secret) => {
      if (answer.faults.length > 0) await output.warn(describeFaults(answer.faults))
      if (answer.warning) await output.warn(answer.warning)
      if (secret) await output.showOnce(view, answer.body, secret)
      else await output.show(view, answer.body)
    },
    startService: async ({ dataDir = dataFolder(), ...rest }) => {
      const { startService } = await import('../service/start-service.ts')
      return startService({ ...rest, dataDir })
    },
    openAdministration: async (dataDir = dataFolder()) => {
      const { openAdministration } = await import('../service/administration.ts')
      const administration = await openAdministration(dataDir)
      closers.push(async () => administration.close())
      return administration
    },
    close: async () => {
      for (const closer of closers.reverse()) await closer()
    },
  }
}

interface Resolution {
  configuration: Configuration
  options: Options
  failure?: Failure
}

/** Without what cannot be read, where the command stands that: no stored value is in force then. */
function resolve(invocation: Invocation, env: NodeJS.ProcessEnv): Resolution {
  let configuration: Configuration = {}
  try {
    configuration = readConfiguration()
    return { configuration, options: resolveOptions(invocation.flags, env, configuration, invocation) }
  } catch (failure) {
    if (!invocation.standsBrokenConfiguration || !(failure instanceof Failure)) throw failure
    const names = Object.keys(configuration.profiles ?? {})
    const profiles = Object.fromEntries(names.map((name) => [name, {}]))
    const options = resolveOptions(invocation.flags, env, { ...configuration, profiles }, invocation)
    return { configuration, options, failure }
  }
}

/** The embedded service on a free loopback port of this process, for as long as the command runs. */
async function startLocalService(output: Output, closers: (() => Promise<void>)[]) {
  const { startService } = await import('../service/start-service.ts')
  const service = await startService({ dataDir: dataFolder(), log: 'silent' })
  closers.push(() => service.close())
  if (service.created) {
    output.notice(`Talking to the embedded service; its data lies in ${service.dataDir}`)
  }
  return { url: service.url, key: service.createProcessKey() }
}

function demandCredential({ credential, baseUrl }: Extract<Target, { kind: 'remote' }>): Credential {
  if (credential) return credential
  throw new Failure('unauthorized', `There is no API key for ${baseUrl}`, {
    hint: 'Put it into CHATCTL_API_KEY, or its path into CHATCTL_API_KEY_FILE.',
  })
}

/** One line for all of them; the elements of a list that share a fault are named once. */
function describeFaults(faults: readonly Fault[]): string {
  const words = faults.map(
    ({ path, message }) => `${path.replace(/\b\d+\b/g, '*') || 'the whole of it'} ${message}`,
  )
  const distinct = [...new Set(words)]
  const shown = distinct.slice(0, 5).join('; ')
  const more = distinct.length > 5 ? `; and ${distinct.length - 5} more` : ''
  return `The answer departs from the interface: ${shown}${more}`
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
