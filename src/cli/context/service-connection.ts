import type { TransportOptions } from '../../auth/transport.ts'
import type { Client } from '../../client/client.ts'
import type { ClientEvent } from '../../client/client-event.ts'
import type { ClientOptions, InternalOptions } from '../../client/client-options.ts'
import type { OutgoingRequest } from '../../client/outgoing-request.ts'
import { profileId } from '../../config/configuration-file.ts'
import type { ContextOwner } from '../../config/last-context.ts'
import { localProfile } from '../../config/resolve-options.ts'
import { roundDuration } from '../../config/units.ts'
import { readBaseUrl } from '../../contract/base-url.ts'
import { afterColon, Failure } from '../../contract/failure.ts'
import { isRecord, parseJson, tryParse } from '../../contract/notation/exact-json.ts'
import { once } from '../../system/once.ts'
import {
  adviseOnRefusal,
  connectionTo,
  credentialOf,
  ExpiryWarning,
} from '../credential/credential-in-use.ts'
import type { Output } from '../output/output.ts'
import type { BaseContext, Invocation } from './base-context.ts'
import { type Connection, describeReplies } from './connection.ts'
import { CredentialUser } from './credential-user.ts'
import { Credentials } from './credentials.ts'
import { destinationOf } from './destination.ts'
import { type EmbeddedService, embeddedUrl } from './embedded-service.ts'
import { HeldRequest } from './held-request.ts'
import type { PlanApproval } from './plan-approval.ts'
import { SentChanges } from './sent-changes.ts'
import { chooseTarget, demandNamedService, refuseIfReadOnly, type Target } from './target.ts'

/** Options of a client that a command may choose. `observe` replaces the lines on stderr. */
type Overrides = Pick<ClientOptions, 'observe' | 'maxWait' | 'signal' | 'timeout'>

interface Parts {
  base: BaseContext
  invocation: Invocation
  embedded: EmbeddedService
  approval: PlanApproval
  /** Opens the data of the embedded service, if no service on this machine uses another database. */
  demandOwnDatabase(): Promise<unknown>
}

export class ServiceConnection {
  readonly credentials: Credentials
  /** Options of requests to an authorization server. */
  readonly transport: TransportOptions & { signal: AbortSignal }
  readonly sentChanges: SentChanges
  readonly credentialUser: CredentialUser
  /** The service that requests go to, and the credential from the environment. */
  readonly target: () => Target
  readonly #parts: Parts
  readonly #demandOwnDatabase: () => Promise<unknown>
  #connection: Connection | undefined
  #connected: Promise<Client> | undefined
  /** Whether many requests are sent. */
  #isBulk = false

  constructor(parts: Parts) {
    const { base, invocation } = parts
    const { env, options, resolvePath } = base
    this.#parts = parts
    this.#demandOwnDatabase = once(parts.demandOwnDatabase)
    this.target = once(() => chooseTarget(options, { env, resolvePath }))
    this.transport = transportOf(base, invocation)
    this.credentials = new Credentials(base, this.target, this.transport)
    const { target, credentials } = this
    this.credentialUser = new CredentialUser({ base, target, credentials, connect: () => this.connect() })
    this.sentChanges = new SentChanges({
      open: (service) => this.#openLedger(service),
      // A single change can be repeated by a person, so that a read-only home directory must not prevent it.
      isRequired: () => this.#isBulk,
      onFailure: (error) => this.#warnOfLedger(error),
    })
    // Registered first and so closed last, because closing the client may decide the outcome of a change.
    base.onClose(() => this.sentChanges.close())
  }

  /** @throws Failure `usage` if a non-interactive run would change the embedded service without selecting it */
  demandNamedService(): void {
    demandNamedService(this.#parts.base.streams, this.target())
  }

  /** Whose files on this machine the run uses. */
  contextOwner(): ContextOwner {
    const to = this.target()
    if (to.kind === 'local') return { profile: localProfile, baseUrl: undefined }
    const { base } = this.#parts
    const { value: name } = base.options.profile
    // Without a profile, the configuration is not read.
    const profile = name === undefined ? undefined : profileId(base.configuration, name)
    return { profile, baseUrl: readBaseUrl(to.baseUrl).href }
  }

  /** The service that `connect` or `connectTo` has connected to. */
  connection(): Connection | undefined {
    return this.#connection
  }

  /**
   * Always returns the same client.
   * @param overrides used by the first call
   * @throws Failure `unauthorized` without a credential
   */
  connect(overrides?: Overrides): Promise<Client> {
    this.#connected ??= this.#connect(overrides)
    return this.#connected
  }

  /** The service that a profile is being signed in to, with a credential that is not stored yet. */
  connectTo(profile: string, baseUrl: string, credential: string): Promise<Client> {
    const refusalHint = 'The credential was not stored. Check it, and sign in again.'
    this.#connection = { baseUrl, baseUrlFrom: 'login', profile, refusalHint }
    return this.#open({ baseUrl, credential })
  }

  async #connect(overrides: Overrides = {}): Promise<Client> {
    const { base, invocation, embedded } = this.#parts
    const to = this.target()
    const { signedIn, held } = this.credentials
    this.#connection = connectionTo(to, base.options)
    // The keychain is read in another process, at the same time as the network module is loaded.
    if (!invocation.dryRun) void adviseOnRefusal(this.#connection, to, signedIn())
    const expiry = new ExpiryWarning(base.host.clock)
    base.onClose(() => expiry.warn(base.output, to, { signedIn: signedIn(), held: held() }))
    this.#isBulk = overrides.observe !== undefined
    if (!this.#isBulk) this.sentChanges.remember()
    const service =
      to.kind === 'remote'
        ? { baseUrl: to.baseUrl, credential: credentialOf(to, signedIn(), held()) }
        : { baseUrl: embeddedUrl, credential: async () => (await embedded.open()).key }
    const observe = expiry.follow(overrides.observe ?? this.transport.observe)
    const gate = (request: OutgoingRequest) => this.#begin(request, to)
    const openHandler = to.kind === 'local' ? this.#openHandler : undefined
    return this.#open({ ...overrides, ...service, observe, gate }, openHandler)
  }

  /** Holds a request back under `--dry-run`, refuses it in read-only mode, or begins to follow a change. */
  async #begin(request: OutgoingRequest, to: Target) {
    const { invocation, base } = this.#parts
    if (!invocation.dryRun && request.method !== 'GET' && request.method !== 'HEAD') {
      refuseIfReadOnly(base.options, `The ${request.method} request`)
    }
    const baseUrl = to.kind === 'remote' ? to.baseUrl : embeddedUrl
    const destination = destinationOf(request, baseUrl)
    if (destination.changesService) this.demandNamedService()
    const isHeld = invocation.dryRun === 'all' || (invocation.dryRun && request.method !== 'GET')
    if (isHeld) throw new HeldRequest(request, to.kind === 'remote' ? to.baseUrl : undefined)
    if (destination.subject) this.#parts.approval.demand(destination.subject)
    if (to.kind === 'local' && destination.changesService) await this.#demandOwnDatabase()
    if (destination.endpoint === 'updateSettings') await this.#readSettingsBefore(request)
    const service = to.kind === 'local' ? 'local' : destination.service
    return this.sentChanges.begin(request, baseUrl, { ...destination, service })
  }

  /** The settings before a change, for the ledger. GET of the same path reads them (docs/interface.md, "Endpoints"). */
  async #readSettingsBefore({ path }: OutgoingRequest): Promise<void> {
    if (this.sentChanges.settingsBefore !== undefined) return
    try {
      const client = await this.connect()
      const { failure, text } = await client.send({ method: 'GET', path })
      const settings = failure ? undefined : tryParse(text, parseJson)
      this.sentChanges.settingsBefore = isRecord(settings) ? settings : undefined
    } catch (error) {
      // The service may refuse to show them.
      if (!(error instanceof Failure)) throw error
    }
  }

  readonly #openHandler = once(async () => {
    const { embedded, invocation, base } = this.#parts
    const service = await embedded.open()
    if (this.#connection) this.#connection.localService = service
    if (invocation.debug) {
      const replies = describeReplies(service.modelServer)
      base.streams.say(`* The embedded service runs in this process, with ${replies}`)
    }
    return service.handle
  })

  async #open(options: ClientOptions, openHandler?: InternalOptions['openHandler']): Promise<Client> {
    const { Client } = await import('../../client/client.ts')
    const { clock, openTrace, ...transport } = this.transport
    const client = new Client({ ...transport, ...options, internal: { clock, openTrace, openHandler } })
    this.#parts.base.onClose(() => client.close())
    return client
  }

  async #openLedger(service: string) {
    const { base, invocation } = this.#parts
    const [{ Ledger }, { LedgerRun }] = await Promise.all([
      import('../../ledger/ledger.ts'),
      import('../../ledger/ledger-run.ts'),
    ])
    const { directories, host, options } = base
    const profile = service === 'local' ? localProfile : options.profile.value
    const run = { profile, service, command: invocation.command }
    return new LedgerRun(Ledger.of(directories, service), run, host.clock)
  }

  #warnOfLedger(error: unknown): void {
    const { output, onClose } = this.#parts.base
    const why = afterColon(error instanceof Error ? error.message : String(error))
    const warning = output.warn(`This run cannot record its changes: ${why}`)
    onClose(() => warning)
  }
}

function transportOf(base: BaseContext, { userAgent, debug }: Invocation): ServiceConnection['transport'] {
  const { options, signal, env, host, output, streams, onClose } = base
  return {
    userAgent,
    timeout: options.timeout.source === 'default' ? undefined : options.timeout.value,
    retries: options.retries.value,
    maxWait: options.max_wait.value,
    signal,
    env,
    clock: host.clock,
    // A trace shows waits and retries itself.
    observe: debug ? undefined : showWaits(output),
    openTrace: debug
      ? once(async () => {
          const { Trace } = await import('../../client/trace.ts')
          const { describeTrace } = await import('../errors/describe-trace.ts')
          const trace = new Trace((event) => streams.sayStyled(describeTrace(event)))
          onClose(() => trace.finish())
          return trace
        })
      : undefined,
  }
}

/** Shows waits and retries while they happen. */
function showWaits(output: Output): (event: ClientEvent) => void {
  return (event) => {
    if (event.type === 'wait')
      output.progress(`Rate limit exceeded. Retrying in ${roundDuration(event.after)}…`)
    if (event.type !== 'retry') return
    const reason = event.reason.charAt(0).toUpperCase() + event.reason.slice(1)
    output.progress(`${reason}. Retrying in ${roundDuration(event.after)}…`)
  }
}
