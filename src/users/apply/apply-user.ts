import { affectsEveryRow, sendChange } from '../../bulk/send/send-change.ts'
import type { ApiResponse } from '../../client/response/response.ts'
import type { Mismatch } from '../../contract/contradictions.ts'
import { Failure, unknownOutcome } from '../../contract/failure.ts'
import { hashOfField } from '../../contract/managed-fields.ts'
import { type User, userIn } from '../../contract/resources/user.ts'
import { isoNow } from '../../system/clock.ts'
import { contradictionOf, withoutSecrets } from '../../view/failure-details.ts'
import { otherUser, readUser } from '../compare-user.ts'
import { hashesExcept, isReadable, updatableFields } from '../managed-fields.ts'
import { bodyOf, type ImportedUser, type Step } from '../rows/imported-user.ts'
import { onlyAccepted, request } from '../send/send-row.ts'
import type { StateEntry } from '../state/state-entry.ts'
import type { ApplySending } from './apply-sending.ts'
import {
  changedUser,
  emailTaken,
  findChangedSince,
  findKept,
  findLost,
  findNotApplied,
  findShown,
  showsValueOf,
  stateConflict,
  takenId,
  type UserOutcome,
} from './user-outcome.ts'
import { fieldsToSend, groupOf, type PlannedUser, stepsFor } from './users-plan.ts'

/**
 * Applies the differences of one user. The state has each intent before its request is sent, and each outcome
 * after it. After an error, `outcome` has what is known.
 */
export class UserApplication {
  readonly outcome: UserOutcome
  readonly #planned: PlannedUser
  readonly #sending: ApplySending
  #fields: ReadonlyMap<string, unknown>
  /** The user as it was read before the change. */
  #found: User = {}
  /** Fields that the files do not have, which are sent because the service may replace a group of fields. */
  #others = new Map<string, unknown>()
  /** The fields that a response has shown with the new value. */
  readonly #shown = new Set<string>()
  /** The entry of a changed user that still has to be read back. */
  #unread: StateEntry | undefined

  constructor(planned: PlannedUser, sending: ApplySending) {
    const { email, id } = planned.difference
    this.#planned = planned
    this.#sending = sending
    this.#fields = fieldsToSend(planned)
    this.outcome = { email, id, status: 'pending', isCreated: false, sent: [], mismatches: [] }
  }

  /** @throws the error that should end the run */
  async run(): Promise<void> {
    const { action, id } = this.#planned.difference
    const recorded = this.#sending.known.find(this.outcome.email)
    const before = this.#sending.state.find(this.outcome.email)
    const conflict = stateConflict(this.#planned, recorded)
    if (conflict) return this.#settle('conflict', conflict)
    if (action === 'create' || action === 'unknown' || id === undefined) return this.#create(before)
    const found = await this.#read(id)
    if (found === undefined) return
    if (action === 'missing' && found === 'missing') return this.#create(before)
    if (action === 'missing') return this.#settle('conflict', changedUser(id, 'exists again'))
    if (found === 'missing') return this.#settle('conflict', changedUser(id, 'no longer exists'))
    const other = otherUser(this.outcome.email, id, found)
    if (other) return this.#settle('conflict', other)
    const { hashes = {} } = recorded?.id === id ? recorded : this.#planned
    const entry = before?.id === undefined ? { email: this.outcome.email, id, hashes } : before
    this.#sending.state.note(entry)
    const changed = findChangedSince(this.#planned, this.#fields, { user: found, hashes: entry.hashes })
    if (changed.length > 0) {
      this.outcome.mismatches = changed.map(withoutSecrets)
      return this.#settle('conflict')
    }
    // Someone else may have made the same change meanwhile.
    const differing = new Set(findNotApplied(this.#fields, found).map(({ path }) => groupOf(path)))
    const isAsWanted = (path: string) => isReadable(path) && !differing.has(groupOf(path))
    const known = { ...entry, hashes: { ...entry.hashes, ...this.#hashesOf(this.#paths(isAsWanted)) } }
    this.#fields = new Map([...this.#fields].filter(([path]) => !isAsWanted(path)))
    if (this.#fields.size > 0) {
      const groups = new Set([...this.#fields.keys()].map(groupOf))
      this.#found = found
      this.#others = new Map([...updatableFields(found)].filter(([path]) => groups.has(groupOf(path))))
      return this.#change(known)
    }
    this.#sending.state.note({ ...known, found: undefined })
    this.#settle(before?.id === undefined ? 'adopted' : 'unchanged')
  }

  async #create(before: StateEntry | undefined): Promise<void> {
    const created = await this.#sending.ids.inTurn(() => this.#sendCreate(before))
    if (created) await this.#change(created)
  }

  /** @returns the entry of the new user; undefined if the create was not confirmed with an ID */
  async #sendCreate(before: StateEntry | undefined): Promise<StateEntry | undefined> {
    const { email } = this.outcome
    const { state, ids } = this.#sending
    const { row, steps } = stepsFor(this.#fields, { email, id: undefined })
    if (steps.length > 1 && ids.lack !== undefined)
      return this.#settle('failed', new Failure('incomplete', ids.lack, { code: 'no_id' }))
    const { email: known = email, forgotten } = before ?? {}
    const intent: StateEntry = { email: known, creation: 'unknown', forgotten, hashes: {} }
    const response = await this.#send('create', row, before, intent)
    if (!response) return undefined
    const id = ids.read(response, row)
    for (const path of findShown(this.#sent, response.body)) this.#shown.add(path)
    const holder = id === undefined ? undefined : state.findById(id)
    const other = holder ? takenId(holder) : id && otherUser(email, id, Object(userIn(response.body)))
    if (response.status === 202 && !other) {
      this.outcome.id = id
      return this.#settle('unknown', unknownOutcome(new Failure('incomplete', onlyAccepted)))
    }
    this.outcome.isCreated = true
    if (!id || other) {
      state.note({ ...intent, creation: 'nameless' })
      return this.#settle('nameless', other || undefined)
    }
    this.outcome.id = id
    const paths = this.#paths((path) => path === 'name' || path.startsWith('metadata.'))
    const entry: StateEntry = { email: intent.email, id, hashes: this.#hashesOf(paths) }
    state.note(entry)
    return entry
  }

  /** Sends what a created or an existing user still lacks, and reads it back. */
  async #change(before: StateEntry): Promise<void> {
    const { isCreated, email } = this.outcome
    const { row, steps } = stepsFor(this.#sent, { email, id: isCreated ? undefined : before.id })
    let entry: StateEntry | undefined = before
    for (const step of steps) {
      if (step !== 'create' && entry) entry = await this.#sendFields(step, row, entry)
    }
    if (!entry) return
    if (!isCreated && this.#paths(isReadable).length === 0) return this.#settle('changed')
    // If the run ends now, the changes were confirmed.
    this.#settle('unverified')
    this.#unread = entry
    await this.readBack(false)
  }

  /** @returns the entry after the change; undefined if it was not confirmed */
  async #sendFields(
    step: 'update' | 'assign',
    row: ImportedUser,
    before: StateEntry,
  ): Promise<StateEntry | undefined> {
    const { isCreated } = this.outcome
    const paths = this.#paths((path) =>
      step === 'assign'
        ? !isReadable(path)
        : isReadable(path) && (!isCreated || path.startsWith('settings.')),
    )
    const groups = new Set(paths.map(groupOf))
    // Also those of fields that the files no longer contain, because the service may replace the whole group.
    const hashes = hashesExcept(before.hashes, (path) => groups.has(groupOf(path)))
    const response = await this.#send(step, row, before, { ...before, hashes })
    if (!response) return undefined
    // An update is read back. The state has no hashes of the fields now, so the next run sends them again.
    const kept = findKept(row.permissions, response.body, before.hashes['permissions'])
    const failure =
      step === 'assign' ? contradictionOf(bodyOf.assign(row), response, undefined, kept) : undefined
    if (failure) {
      // Otherwise, the next run would not know which permissions should be gone.
      const { permissions = '' } = before.hashes
      if (kept.length > 0) this.#sending.state.note({ ...before, hashes: { ...hashes, permissions } })
      return this.#settle(failure.isOutcomeUnknown ? 'unknown' : 'not_applied', failure)
    }
    if (step === 'assign') this.outcome.sent = paths
    const after = { ...before, hashes: { ...hashes, ...this.#hashesOf(paths) } }
    const lost = step === 'update' ? findLost(this.#sent, response.body, this.#found) : []
    for (const path of findShown(this.#sent, response.body)) this.#shown.add(path)
    if (lost.length > 0) return this.#settleNotApplied(after, lost)
    this.#sending.state.note(after)
    return after
  }

  /**
   * Sends a change after its intent is on disk.
   * @param before the entry to restore if the request had no effect
   * @param intent the entry while the outcome is unknown
   * @returns undefined if the change was not confirmed: `outcome` has the reason
   * @throws the error that should end the run
   */
  async #send(
    step: Step,
    row: ImportedUser,
    before: StateEntry | undefined,
    intent: StateEntry,
  ): Promise<ApiResponse<unknown> | undefined> {
    const { users, state, health, beforeChange, passwordOf } = this.#sending
    const restore = () => (before ? state.note(before) : state.remove(intent.email))
    const sent = await sendChange(this.#sending, {
      recordIntent: async () => {
        if (step === 'create') row.password ??= await passwordOf(this.outcome.email)
        await beforeChange()
        await state.record(intent)
      },
      retract: restore,
      request: () => request(users, { row, step, id: intent.id }),
      get password() {
        return row.password
      },
    })
    if ('response' in sent) return sent.response
    if ('ended' in sent) {
      this.outcome.status = 'unknown'
      throw sent.ended
    }
    const { failure } = sent
    if (failure.isOutcomeUnknown) this.#settle('unknown', failure)
    else if (affectsEveryRow(failure)) restore()
    else {
      const isTaken = step === 'create' && failure.status === 409
      // The user was perhaps created by an earlier request with an unknown outcome.
      if (isTaken && before?.creation !== undefined) state.note({ ...before, creation: 'nameless' })
      else restore()
      this.#settle('failed', isTaken ? emailTaken(failure, intent.email) : failure)
    }
    health.failed(failure)
    return undefined
  }

  /** Whether the service still shows the values before the change. */
  get isPending(): boolean {
    return this.#unread !== undefined
  }

  /** @param isLast whether values before the change are final */
  async readBack(isLast: boolean): Promise<void> {
    const entry = this.#unread
    const { state, clock } = this.#sending
    const found = await this.#read(entry?.id ?? '', 'unverified')
    const isMissing = found === 'missing'
    const isOld = showsValueOf(this.#found)
    const mismatches = findNotApplied(this.#sent, isMissing ? {} : (found ?? {})).filter(
      (mismatch) => !(this.#shown.has(mismatch.path) && isOld(mismatch)),
    )
    const isPending = isMissing || mismatches.length > 0
    if (!entry || (found !== undefined && isPending && !isLast && mismatches.every(isOld))) return
    this.#unread = undefined
    if (found === undefined) return
    const { found: _, ...known } = entry
    if (!isPending) {
      state.note({ ...known, checkedAt: isoNow(clock) })
      return this.#settle(this.outcome.isCreated ? 'created' : 'changed')
    }
    const failure = isMissing ? changedUser(entry.id ?? '', 'does not exist') : undefined
    this.#settleNotApplied(entry, mismatches, failure)
  }

  #settleNotApplied(entry: StateEntry, mismatches: readonly Mismatch[], failure?: Failure): undefined {
    const paths = mismatches.map(({ path }) => path)
    this.#sending.state.note({ ...entry, hashes: hashesExcept(entry.hashes, (path) => paths.includes(path)) })
    this.outcome.mismatches = mismatches
    this.#settle('not_applied', failure)
  }

  get #sent(): ReadonlyMap<string, unknown> {
    return new Map([...this.#others, ...this.#fields])
  }

  /** @returns undefined if the user could not be read: `outcome` has the reason */
  async #read(id: string, otherwise: 'failed' | 'unverified' = 'failed') {
    const { users, throttle, health } = this.#sending
    try {
      const user = await throttle.through(() => readUser(users, id))
      health.succeeded()
      return user
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      if (error.status === 404) return 'missing'
      if (otherwise === 'unverified' || !affectsEveryRow(error)) this.#settle(otherwise, error)
      health.failed(error)
      return undefined
    }
  }

  #settle(status: UserOutcome['status'], failure?: Failure): undefined {
    this.outcome.status = status
    if (failure) this.outcome.failure = failure
  }

  #paths(isChosen: (path: string) => boolean): string[] {
    return [...this.#fields.keys()].filter(isChosen)
  }

  #hashesOf(paths: readonly string[]): Record<string, string> {
    return Object.fromEntries(paths.map((path) => [path, hashOfField(path, this.#fields.get(path))]))
  }
}
