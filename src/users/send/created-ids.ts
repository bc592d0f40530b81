import { redactorOf } from '../../client/redaction.ts'
import { type ApiResponse, idOfCreated } from '../../client/response/response.ts'
import { Failure } from '../../contract/failure.ts'
import { hideSecrets } from '../../contract/secret-fields.ts'
import { visibleJson } from '../../terminal/strip-controls.ts'
import type { KnownUsers } from '../known-users.ts'
import type { ImportedUser } from '../rows/imported-user.ts'

/** Sends creates one after another until the service has given an ID. If it gives none, the first create ends the run. */
export class CreatedIds {
  /** Undefined until a create has succeeded. */
  #areGiven: boolean | undefined
  #failure: Failure | undefined
  #last = Promise.resolve()
  readonly #withoutIds: boolean
  /** The emails of users, by ID. */
  readonly #holders: Map<string, string>

  /**
   * @param withoutIds whether users are created although the service gives no IDs
   * @param known what the ledger has
   */
  constructor(withoutIds: boolean, known?: Pick<KnownUsers, 'emails' | 'givesIds'>) {
    this.#withoutIds = withoutIds
    this.#holders = new Map(known?.emails())
    if (known?.givesIds()) this.#areGiven = true
  }

  /**
   * @param send calls `read` with the response, and records the outcome
   * @throws Failure `incomplete` if the service gave no ID, which ends the run
   */
  async inTurn<T>(send: () => Promise<T>): Promise<T> {
    const before = this.#last
    const { promise, resolve } = Promise.withResolvers<void>()
    if (this.#areGiven === undefined) {
      this.#last = promise
      await before
    }
    if (this.#areGiven !== undefined) resolve()
    try {
      const sent = this.#failure ? undefined : await send()
      if (this.#failure) throw this.#failure
      return sent as T
    } finally {
      resolve()
    }
  }

  /** @returns the ID in the response to a create */
  read(response: ApiResponse<unknown>, { email, password }: ImportedUser): string | undefined {
    const id = idOfCreated(response)
    const { status, body } = response
    if (id === undefined && this.#areGiven === undefined && !this.#withoutIds) {
      const details = { body: redactorOf(password)(hideSecrets(body ?? null)) }
      const words = `The response to the creation of ${email} (${status}) contains no ID, neither in its body nor in a Location header. No other user was created. The body is ${visibleJson(details.body)}`
      const hint = 'To create the users that need no other request, run the same command with --without-ids.'
      this.#failure = new Failure('incomplete', words, { code: 'no_id', status, details, hint })
    }
    this.#areGiven ||= id !== undefined
    return id
  }

  /** The email of another user who has the ID. The first one keeps it. */
  holderOf(id: string, email = ''): string | undefined {
    const holder = this.#holders.get(id)
    if (holder === undefined) this.#holders.set(id, email)
    return holder?.toLowerCase() === email.toLowerCase() ? undefined : holder
  }

  /** Why a user is not created who needs another request; undefined if the service may give an ID. */
  get lack(): string | undefined {
    if (this.#areGiven !== false) return undefined
    return 'not created, because the next request needs the ID, and the service gives none'
  }
}
