import { isUnresolved, type Journal, mayHaveChanged, type RowState } from '../bulk/journal/journal.ts'
import { hashOfField, managedFields } from '../contract/managed-fields.ts'
import { type ComparedEntry, severalUsers } from './compare-user.ts'
import type { KnownUsers } from './known-users.ts'
import type { ValidRow } from './rows/check-input.ts'
import { type ImportedUser, stepsOf } from './rows/imported-user.ts'

/**
 * Decides which rows that create a user are done, or begun, by what any command has sent for the email. A step is done
 * if what was last sent for its fields is what the row says.
 *
 * @returns the number of rows whose user another import or command has certainly created
 */
export function adoptCreated(journal: Journal, rows: readonly ValidRow[], known: KnownUsers): number {
  let count = 0
  for (const { key, row } of rows) {
    if (row.id !== undefined || row.email === undefined) continue
    const own = journal.content.states.get(key)
    const entry = known.find(row.email)
    if (entry?.creation === 'forgotten' && own) journal.drop(key)
    if (!entry || entry.creation === 'forgotten') continue
    const state = stateOf(row, own, entry)
    if (!state) continue
    if (!mayHaveChanged(own) && entry.creation !== 'unknown') count++
    const isOwn = own?.isOwn === true && mayHaveChanged(own)
    journal.adopt(key, { ...state, isCreator: own?.isCreator === true, isOwn, isCurrent: false })
  }
  return count
}

/** @returns undefined if the row is where its own import has left it */
function stateOf(
  row: ImportedUser,
  own: RowState | undefined,
  { id, ids, creation, hashes }: ComparedEntry,
): Pick<RowState, 'step' | 'phase' | 'id' | 'error'> | undefined {
  const create = { step: 'create', id: undefined, error: undefined } as const
  if (creation !== undefined || id === undefined) {
    // The outcome of a create that this import knows was perhaps unknown before.
    if (own && (mayHaveChanged(own) || creation === 'unknown')) return undefined
    if (creation === 'unknown')
      return { ...create, phase: 'unknown', error: 'another request may have created this user' }
    if (ids && ids.length > 1) return { ...create, phase: 'nameless', error: severalUsers(ids) }
    return { ...create, phase: stepsOf(row).length > 1 ? 'nameless' : 'took' }
  }
  // Another step than the create was not done, or perhaps not.
  if (own && mayHaveChanged(own) && own.phase !== 'took' && !isUnresolved(own)) return undefined
  const steps = stepsOf(row)
  const { settings, role, permissions } = row
  const isSent = (fields: Parameters<typeof managedFields>[0]) =>
    [...managedFields(fields)].every(([path, value]) => hashes[path] === hashOfField(path, value))
  const next = steps.findIndex(
    (step) =>
      (step === 'update' && !isSent({ settings })) || (step === 'assign' && !isSent({ role, permissions })),
  )
  return { step: steps.at(next === -1 ? -1 : next - 1) ?? 'create', phase: 'took', id, error: undefined }
}
