import type { ClientEvent } from '../../client/client-event.ts'
import type { ApiResponse } from '../../client/response/response.ts'
import type { Run } from '../../run/run.ts'
import type { View } from '../../view/format/view.ts'
import { commandFor } from '../command-line.ts'
import type { OneTimeSecret } from '../output/output.ts'
import { BulkProgress } from '../output/progress.ts'
import { warnOfResponse } from '../output/warn-of-response.ts'
import { ServiceAdministration } from './administration.ts'
import { type BaseContext, createBaseContext, type Invocation } from './base-context.ts'
import type { Credentials } from './credentials.ts'
import { EmbeddedService } from './embedded-service.ts'
import { PlanApproval } from './plan-approval.ts'
import { ServiceConnection } from './service-connection.ts'

/** What a command works with. Everything is opened and loaded on demand. */
export interface Context
  extends BaseContext,
    Omit<Run, keyof BaseContext | 'connect'>,
    Pick<
      ServiceConnection,
      | 'target'
      | 'demandNamedService'
      | 'contextOwner'
      | 'connect'
      | 'connectTo'
      | 'connection'
      | 'transport'
      | 'sentChanges'
      | 'credentialUser'
    > {
  /** Shows the response of a documented endpoint, with warnings about it. */
  show(view: View, response: ApiResponse<unknown>, secret?: OneTimeSecret): Promise<void>
  readonly credentials: Credentials
  readonly embedded: EmbeddedService
  readonly administration: ServiceAdministration
  readonly approval: PlanApproval
}

/** Wires everything together. This directory alone loads the client, the service, and the ledger. */
export function createContext(invocation: Invocation): Context {
  const base = createBaseContext(invocation)
  const { output } = base
  const embedded = new EmbeddedService(base)
  const administration = new ServiceAdministration(base)
  const approval = new PlanApproval(base)
  const demandOwnDatabase = () => administration.openOwnToChange()
  const service = new ServiceConnection({ base, invocation, embedded, approval, demandOwnDatabase })
  const { host, prompter, options } = base
  const serviceName = () => service.contextOwner().baseUrl ?? 'local'
  const own = {
    get stdin() {
      return host.stdin
    },
    get service() {
      return serviceName()
    },
    get hasSentChange() {
      return service.sentChanges.hasSentChange
    },
    clock: host.clock,
    cwd: host.cwd,
    maxWait: options.max_wait.value,
    untilEnded: () => host.untilEnded(),
    allowGrace: (ms) => host.allowGrace(ms),
    commandFor: (...words) => commandFor(base, ...words),
    showAside: (view, body, isPrompted) => output.showAside(view, body, isPrompted && prompter.canAsk),
    say: (text) => output.notice(text),
    warn: (text) => output.warn(text),
    warnOfResponse: (response) => warnOfResponse(response, output),
    confirm: async (question, refusal) => {
      if (refusal && !prompter.canAsk) throw refusal
      await prompter.confirm(question)
    },
    user: () => service.credentialUser.find(),
    knownUser: () => service.credentialUser.known(),
    noteSettings: (settings) => {
      service.sentChanges.settingsBefore = settings
    },
    contradictSettings: () => service.sentChanges.contradictSettings(),
    note: (note, isRequired) =>
      service.sentChanges.note(serviceName(), (ledger) => ledger.note(note), isRequired),
    saw: (email, id) => service.sentChanges.note(serviceName(), (ledger) => ledger.saw(email, id)),
    refuseClaimed: (knownEnd) => {
      service.sentChanges.knownEnd = knownEnd
    },
    connectWorkers: ({ observe, signal }) => {
      const isNews = onlyFirstRetry()
      return service.connect({
        signal,
        maxWait: 0,
        observe: (event) => {
          observe?.(event)
          if (isNews(event)) service.transport.observe?.(event)
        },
      })
    },
    progress: (work) => new BulkProgress(output, work),
    target: service.target,
    demandNamedService: () => service.demandNamedService(),
    contextOwner: () => service.contextOwner(),
    connect: (overrides) => service.connect(overrides),
    connectTo: (profile, baseUrl, credential) => service.connectTo(profile, baseUrl, credential),
    connection: () => service.connection(),
    transport: service.transport,
    sentChanges: service.sentChanges,
    credentialUser: service.credentialUser,
    show: async (view, response, secret) => {
      await warnOfResponse(response, output)
      await (secret ? output.showOnce(view, response.body, secret) : output.show(view, response.body))
    },
    credentials: service.credentials,
    embedded,
    administration,
    approval,
  } satisfies Omit<Context, keyof BaseContext>
  return Object.defineProperties(own, Object.getOwnPropertyDescriptors(base)) as typeof own & BaseContext
}

/** Selects the events to show: when one worker retries, the others usually retry for the same reason. */
function onlyFirstRetry(): (event: ClientEvent) => boolean {
  let isKnown = false
  return (event) => {
    if (event.type === 'response' && event.status < 500) isKnown = false
    if (event.type !== 'retry') return true
    const isNew = !isKnown
    isKnown = true
    return isNew
  }
}
