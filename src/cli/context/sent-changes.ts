import type { ChangeRecorder } from '../../activity/change-recorder.ts'
import type { OutgoingRequest } from '../../client/outgoing-request.ts'
import type { FailedRequest, RequestOutcome } from '../../contract/failure.ts'
import { withoutTrailing } from '../../contract/notation/text.ts'
import { hideSecretParameters } from '../../contract/secret-fields.ts'
import { once } from '../../system/once.ts'
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
  outcome: RequestOutcome['outcome'] | undefined
}

/**
 * The changes of a run. Each is recorded for `chatctl activity`. Those of settings and users are remembered, so that a
 * run that is interrupted can say what is known of them. An import, which sends many at the same time, has its journal for this.
 */
export class SentChanges {
  readonly #openRecorder: () => Promise<ChangeRecorder>
  #recorder: Promise<ChangeRecorder> | undefined
  /** The settings of the service as they were last read, for the activity record. */
  settingsBefore: object | undefined
  readonly #remembered: SentChange[] = []
  #isRemembering = false

  /** @param openRecorder called for the first change */
  constructor(openRecorder: () => Promise<ChangeRecorder>) {
    this.#openRecorder = once(openRecorder)
  }

  /** From now on, changes are remembered. */
  remember(): void {
    this.#isRemembering = true
  }

  /** Resolves when the change is recorded. @returns records its outcome */
  async begin(
    request: OutgoingRequest,
    baseUrl: string,
    { isRecorded, recordedAs, changesService }: Destination,
  ): Promise<((outcome: RequestOutcome) => void) | undefined> {
    if (!isRecorded) return undefined
    this.#recorder = this.#openRecorder()
    const record = await (await this.#recorder).begin({ ...request, ...recordedAs }, this.settingsBefore)
    const { method, query } = request
    const path = hideSecretParameters(query ? `${request.path}?${new URLSearchParams(query)}` : request.path)
    const change: SentChange = { method, path, baseUrl, outcome: undefined }
    if (this.#isRemembering && changesService) this.#remembered.push(change)
    return (outcome) => {
      change.outcome = outcome.outcome
      record(outcome)
    }
  }

  async close(): Promise<void> {
    ;(await this.#recorder)?.close()
  }

  /** Whether a change was sent whose outcome is unknown. */
  get isUnknown(): boolean {
    return this.#remembered.some(hasUnknownOutcome)
  }

  /**
   * What is known when the run is interrupted.
   *
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
  return outcome === 'unknown'
}

function requestOf({ method, path, baseUrl }: SentChange): FailedRequest {
  return { method, url: withoutTrailing(baseUrl, '/') + path }
}

function inWords({ method, url }: FailedRequest): string {
  return `${method} ${url}`
}
