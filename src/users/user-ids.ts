import { Failure } from '../contract/failure.ts'
import { Ledger } from '../ledger/ledger.ts'
import type { Run } from '../run/run.ts'
import { visibleJson } from '../terminal/strip-controls.ts'
import { noEntry } from './change-state.ts'
import { type ComparedEntry, severalUsers } from './compare-user.ts'
import { comparedEntry, KnownUsers } from './known-users.ts'
import { sentTo, userWith } from './sent-users.ts'
import type { UsersState } from './state/users-state.ts'

/** Before an ID that would otherwise be read as an email. */
export const idPrefix = 'id:'

/** The users that arguments name. */
export class UserIds {
  readonly #run: Pick<Run, 'directories' | 'service' | 'commandFor'>
  readonly #ledger: Ledger
  readonly #state: UsersState | undefined
  readonly #known: KnownUsers

  constructor(run: Pick<Run, 'directories' | 'service' | 'commandFor'>, state?: UsersState) {
    this.#run = run
    this.#ledger = Ledger.of(run.directories, run.service)
    this.#state = state
    this.#known = new KnownUsers(run, state)
  }

  /**
   * The ID that a word names: an ID, or an email that the state file or the ledger knows.
   * @param isOnly whether there is no other word, so that only the changes of this user are read
   * @throws Failure `refused` for an email without one known ID, or that is also an ID; `storage`
   */
  idOf(word: string, isOnly: boolean): string {
    const state = this.#state
    if (word.startsWith(idPrefix)) return word.slice(idPrefix.length)
    if (!word.includes('@')) return word
    const found = this.#find(word, isOnly)
    const sent = isOnly ? sentTo(this.#ledger.changesOfUser(word)) : this.#known.sent()
    const asId = `${idPrefix}${word}`
    if (!sent.has(word) && !state?.findById(word)) {
      if (state?.exists !== false && found?.id !== undefined) return found.id
      throw this.#unknown(word, found, isOnly, ` For the user with this ID, write ${asId}.`)
    }
    const others = (found?.ids ?? [found?.id ?? word]).filter((id) => id !== word)
    if (others.length === 0) return word
    const ids = others.map(visibleJson).join(' and ')
    const words = `${visibleJson(word)} is the email of the user ${ids} and the ID of another user`
    throw new Failure('refused', words, { hint: `Name the ID: ${others.join(' or ')}, or ${asId}` })
  }

  /** The ID of an email. @throws Failure `refused` if it is not known; `storage` */
  idOfEmail(email: string): string {
    const found = this.#find(email, false)
    if (found?.id === undefined) throw this.#unknown(email, found, false)
    return found.id
  }

  #find(email: string, isOnly: boolean): ComparedEntry | undefined {
    return isOnly && !this.#state ? comparedEntry(userWith(this.#ledger, email)) : this.#known.find(email)
  }

  #unknown(word: string, found: ComparedEntry | undefined, suggests: boolean, orId = ''): Failure {
    const { ids = [], creation } = found ?? {}
    const isCreated = creation !== undefined && creation !== 'forgotten'
    const advice = this.#state && [{ code: 'adopt_email' as const, email: word, state: this.#state.name }]
    if (this.#state && !isCreated) return noEntry(word, this.#state, suggests, advice)
    const { service, commandFor } = this.#run
    const hint =
      service === 'local'
        ? `Find it with: ${commandFor('service', 'users', 'show', word)}`
        : 'Find it on the service: the interface has no request to find a user by email.'
    if (!isCreated) {
      const words = `This machine knows no user with the email ${word}, so the ID is needed`
      return new Failure('refused', words, { hint: hint + orId })
    }
    const why =
      ids.length > 1
        ? severalUsers(ids)
        : 'there was no response to the creation of the user, or none with an ID'
    return new Failure('refused', `The id of ${word} is unknown: ${why}`, {
      hint: ids.length > 1 ? 'Name one of the IDs.' : hint,
      advice,
    })
  }

  /** Sentences about the last changes of users that may still take effect, or whose outcome is unknown. */
  openChanges(ids: readonly string[]): string[] {
    const [id = ''] = ids
    const ledger = this.#ledger
    const sent = sentTo(ids.length === 1 ? ledger.changesOfUser(id) : ledger.userChanges())
    const found = new Map<string, string>()
    for (const id of ids)
      for (const [path, field] of sent.get(id) ?? []) {
        const words = openOutcomes[ledger.outcomeOf(field)]
        if (words === undefined) continue
        const about = `${path} of the user ${visibleJson(id)}`
        found.set(field.id, `The last change of ${about} (${field.command}, ${field.at}) ${words}`)
      }
    return [...found.values()]
  }
}

const openOutcomes: Readonly<Record<string, string>> = {
  unknown: 'has an unknown outcome',
  unverified: 'was only accepted, and may still take effect',
  in_progress: 'is in progress',
}
