import { hashOfField, managedFields } from '../contract/managed-fields.ts'
import { type ImportNote, runOf } from '../ledger/record.ts'
import { type ComparedEntry, severalUsers } from './compare-user.ts'
import type { ImportKnowledge } from './imports.ts'
import type { KnownUsers } from './known-users.ts'
import type { ValidRow } from './rows/check-input.ts'
import { bodyOf, type ImportedUser, type Step, stepsOf } from './rows/imported-user.ts'
import { isUnresolved, noId, type RowState } from './rows/row-state.ts'
import type { SentField } from './sent-users.ts'

/** What earlier runs have sent, as far as it counts for an import. */
export interface EarlierRuns {
  known: KnownUsers
  /** The runs of the same file. Undefined if there was none, or for --restart. */
  own: ImportKnowledge | undefined
  /** Whether only what runs of the same file have created counts. */
  isOwnOnly: boolean
  /** About this run. */
  note: ImportNote
}

/**
 * Decides which rows are done, or begun, by what was last sent.
 * @returns IDs of the unfinished runs whose updates count: those of this file, and of a copy of it
 */
export function readRowStates(
  rows: readonly ValidRow[],
  { known, own, isOwnOnly, note }: EarlierRuns,
): Set<string> {
  const ownUsers = known.createdIn(new Set(own?.runs))
  const users = new Set(rows.flatMap(({ row }) => [row.id ?? '', row.email?.toLowerCase() ?? '']))
  users.delete('')
  const copies = known
    .imports()
    .filter((one) => one.import === note.import && one.rows === note.rows && one.openRuns.length > 0)
    .filter((one) => !isOwnOnly && !one.isClosed && known.changedOnly(one.openRuns, users))
  const open = new Set([...(own?.openRuns ?? []), ...copies.flatMap(({ openRuns }) => openRuns)])
  for (const row of rows) {
    const { id, email = '' } = row.row
    if (id !== undefined) {
      row.state = updatedState(row.row, known.sent().get(id), open)
      continue
    }
    const key = email.toLowerCase()
    const created = known.recorded(email, ownUsers)
    const found = known.inState(email)
    const isOwn = created?.id !== undefined && found?.id === undefined && found?.creation !== 'forgotten'
    const entry = isOwnOnly || isOwn ? created : known.find(email)
    if (!entry || entry.creation === 'forgotten') continue
    const isCreator = created !== undefined && (isOwn || isOwnOnly || entry.id === undefined)
    const state = { ...createdState(row.row, entry), isCreator }
    const isSkipped = own?.runs.includes(known.creationOf(email)?.skippedBy ?? '') === true
    if (isUnresolved(state) && isSkipped) state.hold = 'skipped'
    else if (state.outcome === 'unknown' && known.isInProgress(email))
      Object.assign(state, { hold: 'in_progress', error: 'another command is creating this user now' })
    else if (isCreator && ownUsers.get(key)?.isContradicted) contradict(state)
    row.state = state
  }
  return open
}

/** The response to the creation has shown other values, or another user. */
function contradict(state: RowState): void {
  if (state.step !== 'create' || state.outcome !== 'done') return
  if (state.id === undefined)
    Object.assign(state, {
      lacksId: true,
      error: 'the response to the creation of the user was about another one',
    })
  else
    Object.assign(state, {
      outcome: 'contradicted',
      error: 'the user was created, but the response has shown other values',
    })
}

const none = { error: undefined, lacksId: false, hold: undefined, isCreator: false, isCurrent: false }

function createdState(row: ImportedUser, { id, ids, creation, hashes }: ComparedEntry): RowState {
  const steps = stepsOf(row)
  const create = { ...none, step: 'create' as const, id: undefined }
  if (creation === 'unknown')
    return { ...create, outcome: 'unknown', error: 'an earlier request may have created this user' }
  if (id === undefined) {
    const error = ids && ids.length > 1 ? severalUsers(ids) : noId
    return { ...create, outcome: 'done', lacksId: steps.length > 1, error }
  }
  const next = steps.findIndex((step) => step !== 'create' && !isLastSent(row, step, (path) => hashes[path]))
  return { ...create, step: steps.at(next === -1 ? -1 : next - 1) ?? 'create', outcome: 'done', id }
}

/** A row with an ID is sent by each import, so that only what unfinished ones have sent is done. */
function updatedState(
  row: ImportedUser,
  sent: ReadonlyMap<string, SentField> | undefined,
  open: ReadonlySet<string>,
): RowState | undefined {
  const steps = stepsOf(row)
  const hashOf = (path: string) => {
    const field = sent?.get(path)
    return field?.outcome === 'done' && open.has(runOf(field)) ? field.hash : undefined
  }
  // A step without fields leaves no trace.
  const isDone = (step: Step) => managedFields(bodyOf[step](row)).size > 0 && isLastSent(row, step, hashOf)
  const next = steps.findIndex((step) => !isDone(step))
  const step = next === 0 ? undefined : steps.at(next === -1 ? -1 : next - 1)
  return step && { ...none, step, outcome: 'done', id: row.id }
}

/** Whether what was last sent for the fields of a step is what the row says. */
function isLastSent(row: ImportedUser, step: Step, hashOf: (path: string) => string | undefined): boolean {
  return [...managedFields(bodyOf[step](row))].every(
    ([path, value]) => hashOf(path) === hashOfField(path, value),
  )
}

/** Whether the name and the metadata of a row are what was last sent and confirmed. */
export function isAsCreated(row: ImportedUser, sent: ReadonlyMap<string, SentField> | undefined): boolean {
  return isLastSent(row, 'create', (path) => {
    const field = sent?.get(path)
    return field?.outcome === 'done' ? field.hash : undefined
  })
}
