import type { ClientEvent } from '../../client/client-event.ts'
import type { FailedRequest } from '../../contract/failure.ts'
import { outcomeHint } from '../errors/outcome-hint.ts'
import type { Interruption } from './interruption.ts'
import { changesService } from './target.ts'

/** What is told of the changes of a run that a signal ended. */
export interface InterruptedChange {
  message: string
  hint?: string
  request?: FailedRequest
}

/**
 * Follows the requests of a run that change settings or users, so that a run that is interrupted can say
 * what is known of them. Requests to the same URL are sent one after another; an import, which sends
 * many at once, has its journal for this.
 */
export class SentChanges {
  /** Sent, and not answered, or answered in a way that leaves the outcome open; by method and URL. */
  readonly #unknown = new Map<string, FailedRequest>()
  readonly #confirmed: FailedRequest[] = []
  #isFollowing = false
  #isAsked = false

  /** @returns what a client is to tell its events, which `observe` is told as well */
  follow(observe: ((event: ClientEvent) => void) | undefined): (event: ClientEvent) => void {
    this.#isFollowing = true
    return (event) => {
      this.#note(event)
      observe?.(event)
    }
  }

  #note(event: ClientEvent): void {
    const { type, method, url } = event
    if (method === 'GET') return
    if (!changesService({ method, path: new URL(url).pathname })) return
    this.#isAsked = true
    const key = `${method} ${url}`
    if (type === 'sent') this.#unknown.set(key, { method, url })
    if (type === 'redirect') this.#unknown.delete(key)
    if (type !== 'response') return
    const { status } = event
    if (status < 300) this.#confirmed.push({ method, url })
    // A redirect or a server error does not say whether the change was made.
    if (status < 300 || (status >= 400 && status < 500)) this.#unknown.delete(key)
  }

  /** Whether a change was sent whose outcome is unknown. */
  get isUnknown(): boolean {
    return this.#unknown.size > 0
  }

  /**
   * What is known when the run is interrupted.
   *
   * @param isToChange whether the command sends changes, whatever it was told to do
   * @param command a command line for the same service
   * @returns undefined where there was nothing to change
   */
  describe(
    { hint: more }: Interruption,
    isToChange: boolean,
    command: (...words: string[]) => string,
  ): InterruptedChange | undefined {
    if (!this.#isAsked && !(this.#isFollowing && isToChange)) return undefined
    const [unknown] = this.#unknown.values()
    const confirmed = this.#confirmed.map(inWords).join(' and ')
    const hintOf = (first: string | undefined) => {
      const hint = [first, more].filter(Boolean).join(' ')
      return hint === '' ? {} : { hint }
    }
    if (unknown) {
      const before = confirmed === '' ? '' : `. The service confirmed ${confirmed}`
      return {
        message: `Interrupted. The outcome of the change is unknown: ${inWords(unknown)} was sent and not confirmed${before}`,
        request: unknown,
        ...hintOf(outcomeHint(unknown, command)),
      }
    }
    if (confirmed !== '') {
      return {
        message: `Interrupted after the service confirmed ${confirmed}. The remaining steps were not done`,
        ...hintOf(outcomeHint(this.#confirmed.at(-1), command)),
      }
    }
    return { message: 'Interrupted. No change was sent to the service', ...hintOf(undefined) }
  }
}

function inWords({ method, url }: FailedRequest): string {
  return `${method} ${url}`
}
