import { type Journal, type JournalContent, mayHaveChanged, type RowState } from '../bulk/journal/journal.ts'
import type { UserKnowledge } from '../ledger/knowledge.ts'
import type { ValidRow } from './rows/check-input.ts'
import { emailOfKey, stepsOf } from './rows/imported-user.ts'

/** The state of a row that creates a user, and the key of the row, if it is known. */
interface Creation {
  key?: string
  state: Pick<RowState, 'step' | 'phase' | 'id' | 'error'>
}

/**
 * Finds the rows whose user others have created, or may have created, by email. A row with the same content as in
 * another import continues where that one has ended.
 *
 * @param others other import journals
 * @param created the users whose creation any command has sent, by email in lower case
 * @returns the number of rows whose user was certainly created
 */
export function adoptCreated(
  journal: Journal,
  rows: readonly ValidRow[],
  others: readonly JournalContent[],
  created: ReadonlyMap<string, UserKnowledge>,
): number {
  const found = findCreations(others, created)
  let count = 0
  for (const { key, row } of rows) {
    const creation = found.get(row.email?.toLowerCase() ?? '')
    const own = journal.content.states.get(key)
    if (!creation || row.id !== undefined || mayHaveChanged(own)) continue
    const isDone = certaintyOf(creation.state) === 2
    // The outcome of a create that this import knows to be refused was perhaps unknown before.
    if (!isDone && own) continue
    if (isDone) count++
    const state = adopted(creation, key, stepsOf(row).length > 1)
    journal.adopt(key, { ...state, isCreator: own?.isCreator === true, isOwn: false, isCurrent: false })
  }
  return count
}

function findCreations(
  others: readonly JournalContent[],
  created: ReadonlyMap<string, UserKnowledge>,
): Map<string, Creation> {
  const found = new Map<string, Creation>()
  const add = (email: string, creation: Creation): void => {
    const known = found.get(email)
    if (certaintyOf(creation.state) > (known ? certaintyOf(known.state) : 0)) found.set(email, creation)
  }
  for (const { states } of others) {
    for (const [key, state] of states) if (state.isCreator) add(emailOfKey(key), { key, state })
  }
  for (const [email, { ids, creation }] of created) {
    const phase = creation === 'done' ? 'took' : 'unknown'
    add(email, { state: { step: 'create', phase, id: ids[0], error: undefined } })
  }
  return found
}

function adopted({ key: other, state }: Creation, key: string, hasNext: boolean): Creation['state'] {
  const create = { step: 'create', id: undefined, error: undefined } as const
  if (certaintyOf(state) === 1)
    return { ...create, phase: 'unknown', error: 'another request may have created this user' }
  if (other === key) {
    const { step, phase, id, error } = state
    return { step, phase, id, error }
  }
  const { id } = state
  return id === undefined
    ? { ...create, phase: hasNext ? 'nameless' : 'took' }
    : { ...create, phase: 'took', id }
}

/** 0: the user was certainly not created; 1: perhaps; 2: certainly. */
function certaintyOf({ step, phase }: Creation['state']): number {
  if (step !== 'create' || ['took', 'nameless', 'differs'].includes(phase)) return 2
  return phase === 'intended' || phase === 'unknown' ? 1 : 0
}
