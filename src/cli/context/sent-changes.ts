import type { OutgoingRequest } from '../../client/outgoing-request.ts'
import { serviceUrl } from '../../contract/base-url.ts'
import { type FailedRequest, Failure, type Outcome, type RequestOutcome } from '../../contract/failure.ts'
import { withoutTrailing } from '../../contract/notation/text.ts'
import { hideSecretParameters } from '../../contract/secret-fields.ts'
import type { LedgerEnd } from '../../ledger/ledger.ts'
import type { LedgerRun } from '../../ledger/ledger-run.ts'
import { outcomeHint } from '../errors/outcome-hint.ts'
import type { Destination } from './destination.ts'
import type { Interruption } from './interruption.ts'

/** What is reported of the changes of a run that a signal ended. */
export interface InterruptedChange {
  message: string
  hint?: string
  request?: FailedRequest
}

interface SentChange {
  method: string
  path: string
  /** Of the service that received it. */
  baseUrl: string
  /** As the client reports it; undefined before. */
  outcome: Outcome | undefined
}

/** What opening the ledger needs. */
interface LedgerOptions {
  /** @throws Failure `storage` */
  open(service: string): Promise<LedgerRun>
  /** Whether a change that cannot be written to the ledger must not be sent. */
  isRequired(): boolean
  /** Called once if a change or an outcome cannot be written to the ledger. */
  onFailure(error: unknown): void
}

/**
 * The changes of a run. Each is in the ledger of its service before it is sent. Those of settings and users are remembered, so that a
 * run that is interrupted can say what is known of them.
 */
export class SentChanges {
  readonly #options: LedgerOptions
  /** By service. */
  readonly #ledgers = new Map<string, Promise<LedgerRun>>()
  #hasFailed = false
  /** The settings of the service as they were last read, for the ledger; null if the service does not show them. */
  settingsBefore: object | null | undefined
  contradictSettings: () => void = () => {}
  /** IDs of users who no longer exist, and of whom one is created again. */
  replacedUsers: readonly string[] | undefined
  /** See `refuseClaimed` of `Run`. */
  knownEnd: LedgerEnd | undefined
  readonly #remembered: SentChange[] = []
  #isRemembering = false

  constructor(options: LedgerOptions) {
    this.#options = options
  }

  /** From now on, changes are remembered. */
  remember(): void {
    this.#isRemembering = true
  }

  /** Resolves when the change is in the ledger, flushed to disk. @returns writes its outcome */
  async begin(
    request: OutgoingRequest,
    baseUrl: string,
    destination: Destination,
  ): Promise<((outcome: RequestOutcome) => void) | undefined> {
    if (!destination.isRecorded) return undefined
    const write = await this.#write(request, destination)
    const { method, query } = request
    const path = hideSecretParameters(query ? `${request.path}?${new URLSearchParams(query)}` : request.path)
    const change: SentChange = { method, path, baseUrl, outcome: undefined }
    if (this.#isRemembering && destination.changesService) this.#remembered.push(change)
    return (outcome) => {
      change.outcome = outcome.outcome
      write?.(outcome)
      if (destination.endpoint === 'updateSettings')
        this.contradictSettings = () => write?.({ ...outcome, outcome: 'contradicted' })
    }
  }

  /** @throws Failure `storage` if the ledger is required */
  async note(
    service: string,
    write: (ledger: LedgerRun) => Promise<void>,
    isRequired = false,
  ): Promise<void> {
    try {
      await write(await this.#ledgerOf(service))
    } catch (error) {
      if (isRequired) throw error
      this.#fail(error)
    }
  }

  async close(): Promise<void> {
    for (const opening of this.#ledgers.values()) {
      // A failure to open it was reported when a change was sent.
      const ledger = await opening.catch(() => undefined)
      try {
        ledger?.close()
      } catch (error) {
        this.#warn(error)
      }
    }
  }

  async #write(request: OutgoingRequest, { service, endpoint, path, user }: Destination) {
    const { settingsBefore, replacedUsers: replaces, knownEnd } = this
    const before = settingsBefore ?? undefined
    // Out of date from now on.
    if (endpoint === 'updateSettings') this.settingsBefore = undefined
    try {
      const ledger = await this.#ledgerOf(service)
      const change = { ...request, endpoint, path, user, before, replaces }
      return await ledger.begin(change, knownEnd, (error) => this.#fail(error))
    } catch (error) {
      this.#fail(error)
      return undefined
    }
  }

  #ledgerOf(service: string): Promise<LedgerRun> {
    const key = service === 'local' ? service : serviceUrl(service)
    const opening = this.#ledgers.get(key) ?? this.#options.open(key)
    this.#ledgers.set(key, opening)
    return opening
  }

  /** @throws the error if a change must not be sent without the ledger, or because of what the ledger has */
  #fail(error: unknown): void {
    if (this.#options.isRequired() || (error instanceof Failure && error.kind === 'conflict')) throw error
    this.#warn(error)
  }

  #warn(error: unknown): void {
    if (!this.#hasFailed) this.#options.onFailure(error)
    this.#hasFailed = true
  }

  /** Whether a change was sent whose outcome is unknown. */
  get isUnknown(): boolean {
    return this.#remembered.some(hasUnknownOutcome)
  }

  /** Whether a change was sent that the service has not refused. */
  get hasSentChange(): boolean {
    return this.#remembered.some(({ outcome }) => outcome !== 'refused')
  }

  /**
   * What is known when the run is interrupted.
   * @param isToChange whether the command sends changes
   * @param command a command line for the same service
   * @returns undefined if there was nothing to change
   */
  describe(
    { hint: more }: Interruption,
    isToChange: boolean,
    command: (...words: string[]) => string,
  ): InterruptedChange | undefined {
    const changes = this.#remembered
    if (changes.length === 0 && !(this.#isRemembering && isToChange)) return undefined
    const unknown = changes.find(hasUnknownOutcome)
    const done = changes.filter(({ outcome }) => outcome === 'done').map(requestOf)
    const confirmed = done.map(inWords).join(' and ')
    const withHint = (of: FailedRequest | undefined) =>
      [of && outcomeHint(of, command), more].filter(Boolean).join(' ') || undefined
    if (unknown) {
      const request = requestOf(unknown)
      const before = confirmed === '' ? '' : `. The service confirmed ${confirmed}`
      const message = `Interrupted. The outcome of the change is unknown: ${inWords(request)} was sent and not confirmed${before}`
      return { message, request, hint: withHint(request) }
    }
    if (confirmed !== '') {
      const message = `Interrupted after the service confirmed ${confirmed}. The remaining steps were not done`
      return { message, hint: withHint(done.at(-1)) }
    }
    return { message: 'Interrupted. No change was sent to the service', hint: withHint(undefined) }
  }
}

/** A change without an outcome may have been sent. */
function hasUnknownOutcome({ outcome = 'unknown' }: SentChange): boolean {
  return outcome !== 'done' && outcome !== 'refused'
}

function requestOf({ method, path, baseUrl }: SentChange): FailedRequest {
  return { method, url: withoutTrailing(baseUrl, '/') + path }
}

function inWords({ method, url }: FailedRequest): string {
  return `${method} ${url}`
}
