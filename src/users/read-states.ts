import { hashOfField, managedFields } from '../contract/managed-fields.ts'
import { type ImportKnowledge, runOf, type SentField } from '../ledger/knowledge.ts'
import { type ComparedEntry, severalUsers } from './compare-user.ts'
import type { KnownUsers } from './known-users.ts'
import type { ValidRow } from './rows/check-input.ts'
import { bodyOf, type ImportedUser, type Step, stepsOf } from './rows/imported-user.ts'
import { noId, type RowState } from './rows/row-state.ts'

/** What earlier runs have sent, as far as it counts for an import. */
export interface EarlierRuns {
  known: KnownUsers
  /** The runs of the same file. Undefined if there was none, or for --restart. */
  own: ImportKnowledge | undefined
  /** Whether only what runs of the same file have created counts. */
  isOwnOnly: boolean
}

/**
 * Decides which rows are done, or begun, by what was last sent.
 *
 * @returns IDs of the unfinished runs whose updates count
 */
export function readStates(rows: readonly ValidRow[], earlier: EarlierRuns): Set<string> {
  const { known, own, isOwnOnly } = earlier
  const ownUsers = known.createdIn(new Set(own?.runs))
  const openRuns = isOwnOnly ? own?.openRuns : known.imports().flatMap((one) => one.openRuns)
  const open = new Set(openRuns)
  const counted = new Set(own?.openRuns)
  for (const row of rows) {
    const { id, email = '' } = row.row
    if (id !== undefined) {
      row.state = updatedState(row.row, known.sent().get(id), { open, counted })
      continue
    }
    const created = known.recorded(email, ownUsers)
    const found = known.inState(email)
    const isOwn =
      isOwnOnly || (created !== undefined && found?.id === undefined && found?.creation !== 'forgotten')
    const entry = isOwn ? created : known.find(email)
    if (!entry || entry.creation === 'forgotten') continue
    const state = createdState(row.row, entry)
    const hold = state.outcome === 'unknown' ? known.holdOf(email) : undefined
    const error = hold === 'in_progress' ? 'another command is creating this user now' : state.error
    row.state = { ...state, hold, error, isCreator: isOwn }
  }
  return counted
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
  { open, counted }: { open: ReadonlySet<string>; counted: Set<string> },
): RowState | undefined {
  const steps = stepsOf(row)
  const runs: string[] = []
  const hashOf = (path: string) => {
    const { id = '', hash, outcome } = sent?.get(path) ?? {}
    if (outcome !== 'done' || !open.has(runOf(id))) return undefined
    runs.push(runOf(id))
    return hash
  }
  const next = steps.findIndex((step) => !isLastSent(row, step, hashOf))
  const step = next === 0 ? undefined : steps.at(next === -1 ? -1 : next - 1)
  if (step === undefined) return undefined
  for (const run of runs) counted.add(run)
  return { ...none, step, outcome: 'done', id: row.id }
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
