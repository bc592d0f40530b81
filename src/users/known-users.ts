import { endpoints, isRequestTo } from '../contract/endpoints.ts'
import { Failure } from '../contract/failure.ts'
import { Ledger } from '../ledger/ledger.ts'
import { runOf, type StateNote } from '../ledger/record.ts'
import type { Run } from '../run/run.ts'
import { once } from '../system/once.ts'
import { visibleJson } from '../terminal/strip-controls.ts'
import type { ComparedEntry } from './compare-user.ts'
import { importsIn } from './imports.ts'
import { emailsIn, sentTo, type UserKnowledge, usersIn } from './sent-users.ts'
import { keyOf, type StateEntry } from './state/state-entry.ts'
import { type StateOptions, UsersState } from './state/users-state.ts'

type KnownState = Pick<UsersState, 'path' | 'digest' | 'find' | 'findById'>

/** What is known of users from the state file and from the ledger of this machine, which is read when it is needed. */
export class KnownUsers {
  readonly #state: KnownState | undefined
  readonly #ledger: Ledger
  /** Where the ledger ended when it was read. */
  readonly end = once(() => this.#ledger.end)
  readonly #changes = once(() => {
    this.end()
    return this.#ledger.userChanges()
  })
  readonly #users = once(() => usersIn(this.#changes()))
  readonly #usersSince = once(() =>
    usersIn(this.#changes().filter(({ position }) => position >= this.generation().start)),
  )
  /** What was last sent to each user, by ID. */
  readonly sent = once(() => sentTo(this.#changes()))
  /** The emails of users, by ID. */
  readonly emails = once(() => emailsIn(this.#changes()))
  /** Whether the service has given an ID in the response to a creation. */
  readonly givesIds = once(() =>
    this.#changes().some(
      (entry) => isRequestTo(endpoints.createUser, entry) && entry.user_id !== null && entry.status !== null,
    ),
  )
  /** The emails whose creation a command with a file of users has sent. */
  readonly sentFromFiles = once(() => {
    const creations = this.#changes().filter((entry) => isRequestTo(endpoints.createUser, entry))
    const sent = creations.filter(
      ({ command, outcome }) => outcome !== 'refused' && ['users import', 'users apply'].includes(command),
    )
    return new Set(sent.map(({ email }) => email?.toLowerCase()))
  })
  /** The imports of files. */
  readonly imports = once(() => importsIn(this.#ledger))
  /** The ID of the last change that was read. */
  readonly last = once(() => this.#ledger.last)
  /** Of the state file when it was opened. */
  readonly generation = once(() => this.#findGeneration())

  /** @param state undefined if there is none */
  constructor({ directories, service }: Pick<Run, 'directories' | 'service'>, state?: KnownState) {
    this.#ledger = Ledger.of(directories, service)
    this.#state = state
  }

  /** Whether anything was sent since. */
  get hasChanged(): boolean {
    return this.#ledger.last !== this.last()
  }

  /** Finds a user in the state file, or else in the ledger. @param id in the row */
  find(email: string, id?: string): ComparedEntry | undefined {
    const known = this.#find(email)
    return id === undefined ? known : this.#identified(email, id, known)
  }

  #find(email: string): ComparedEntry | undefined {
    const entry = this.inState(email)
    // A user may have been created again since the file was written.
    if (entry?.creation === 'forgotten') return this.#comparedEntry(this.#usersSince(), email) ?? entry
    return entry ?? this.recorded(email)
  }

  /** The user of a row with an ID. It must be the one that is known, if there is one. */
  #identified(email: string, id: string, known: ComparedEntry | undefined): ComparedEntry {
    const ids = known?.ids?.length ? known.ids : [known?.id ?? id]
    const holder = this.#state?.findById(id)?.email ?? this.emails().get(id)
    const isKnown = ids.includes(id)
    if (!isKnown || (holder && keyOf(holder) !== keyOf(email))) {
      const has = isKnown
        ? `it belongs to ${holder}`
        : `${email} has the ID ${ids.map(visibleJson).join(' or ')}`
      const words = `The row has the ID ${visibleJson(id)}, but ${has}`
      const fault = new Failure('conflict', words, {
        hint: 'Check the user on the service. To record the right ID, run: chatctl users adopt EMAIL=ID --state FILE',
      })
      return { id: undefined, hashes: {}, fault }
    }
    if (known?.id === id) return known
    return { id, hashes: this.#sentHashes(id), ids: [id], isUnchecked: holder === undefined }
  }

  /** Finds a user in the state file. */
  inState(email: string): ComparedEntry | undefined {
    const entry = this.#state?.find(email)
    return entry && { ...entry, hashes: this.hashesOf(entry) }
  }

  /** Finds a user whose creation this machine has sent. @param among those that count (default: all) */
  recorded(
    email: string,
    among: ReadonlyMap<string, UserKnowledge> = this.#users(),
  ): ComparedEntry | undefined {
    return this.#comparedEntry(among, email)
  }

  /** The users that these runs have created. */
  createdIn(runs: ReadonlySet<string>): Map<string, UserKnowledge> {
    return usersIn(this.#changes(), (entry) => runs.has(runOf(entry)))
  }

  /** Whether all users that these runs have changed are among those with these IDs and emails in lower case. */
  changedOnly(runs: readonly string[], users: ReadonlySet<string>): boolean {
    const changes = this.#changes().filter((entry) => runs.includes(runOf(entry)))
    return changes.every(({ email, user_id: id }) =>
      [email?.toLowerCase(), id ?? undefined, this.emails().get(id ?? '')].some((word = '') =>
        users.has(word),
      ),
    )
  }

  /** The creation of a user that was last sent. */
  creationOf(email: string): UserKnowledge | undefined {
    return this.#users().get(email.toLowerCase())
  }

  /** Whether another command waits for the response to the creation of a user. */
  isInProgress(email: string): boolean {
    const { open = [] } = this.creationOf(email) ?? {}
    return open.some((one) => this.#ledger.outcomeOf(one) === 'in_progress')
  }

  #comparedEntry(users: ReadonlyMap<string, UserKnowledge>, email: string): ComparedEntry | undefined {
    const found = users.get(email.toLowerCase())
    return found && comparedEntry(found, (id) => this.#sentHashes(id))
  }

  #sentHashes(id: string): StateEntry['hashes'] {
    const sent = [...(this.sent().get(id) ?? [])].filter(([, { outcome }]) => outcome === 'done')
    return Object.fromEntries(sent.map(([path, { hash }]) => [path, hash]))
  }

  /**
   * The hashes of an entry of the state file, with those of later changes by other commands. A generation of the file
   * that this machine has not seen is newer than the changes before it. If both have changed a field, its value is not
   * known.
   */
  hashesOf({ id = '', hashes }: StateEntry): StateEntry['hashes'] {
    this.last()
    const sent = this.sent().get(id)
    if (!sent) return hashes
    const { isSeen, start, by } = this.generation()
    const known = { ...hashes }
    for (const [path, field] of sent) {
      const { hash, outcome, position } = field
      if (position < start || runOf(field) === by) continue
      if (outcome === 'done' && (isSeen || known[path] === hash)) known[path] = hash
      else delete known[path]
    }
    return known
  }

  /** The last note of this machine about the generation of the state file, or else about an earlier one. */
  #findGeneration() {
    const { path = '', digest } = this.#state ?? {}
    const notes = this.#ledger.notesWith<StateNote>('state', path)
    const own = notes.findLast(({ generation }) => generation === digest)
    const none = { position: 0, after: '', by: '', isRead: false }
    const { after, by, isRead = false, ...note } = own ?? notes.at(-1) ?? none
    const last = this.#ledger.changes(`"id":"${after}"`).find(({ id }) => id === after)
    // A change that was erased was before the note.
    const start = after === '' ? 0 : last ? last.position + 1 : note.position
    return { isSeen: own !== undefined && !isRead, start, after, by: isRead ? '' : by }
  }
}

/** @param hashesOf of the fields that were last sent to a user and confirmed */
export function comparedEntry(
  { ids, creation }: UserKnowledge,
  hashesOf: (id: string) => StateEntry['hashes'] = () => ({}),
): ComparedEntry | undefined {
  if (creation === undefined) return undefined
  if (creation !== 'done') return { id: undefined, creation: 'unknown', hashes: {}, ids }
  const [id = '', ...others] = ids
  if (id === '' || others.length > 0) return { id: undefined, creation: 'nameless', hashes: {}, ids }
  return { id, hashes: hashesOf(id), ids }
}

/**
 * Works with a state file. One that is written gets what other commands have sent since, and the ledger gets its new
 * generation.
 * @returns the result of the work, and the generation that is then in the file
 * @throws Failure as `UsersState.open` and `UsersState.close`
 */
export async function withState<T>(
  run: Run,
  [path, options]: readonly [path: string, options: StateOptions],
  work: (state: UsersState, known: KnownUsers) => Promise<T>,
): Promise<{ result: T; serial: number }> {
  const state = await UsersState.open(path, options)
  const known = new KnownUsers(run, state)
  const before = state.digest
  // Changes of other commands from now on are not in the next generation.
  if (state.isWritable) {
    known.last()
    known.generation()
  }
  let result: T
  try {
    if (state.isWritable) {
      for (const entry of state.allEntries()) state.note({ ...entry, hashes: known.hashesOf(entry) })
    }
    result = await work(state, known)
  } finally {
    await state.close()
    await noteGeneration(run, state, { known, before })
  }
  return { result, serial: state.serial }
}

async function noteGeneration(
  run: Run,
  { path, digest }: UsersState,
  { known, before }: { known: KnownUsers; before: string | undefined },
): Promise<void> {
  if (digest === undefined || (digest === before && !known.hasChanged)) return
  const { isSeen, after } = known.generation()
  try {
    // Git may restore it, and it has none of the changes that were sent since.
    if (before !== undefined && before !== digest && !isSeen)
      await run.note({ state: path, generation: before, after, isRead: true })
    await run.note({ state: path, generation: digest, after: known.last() })
  } catch (error) {
    // Without the note, the file is newer than what the ledger has.
    if (!(error instanceof Failure)) throw error
    await run.warn(error.message)
  }
}
