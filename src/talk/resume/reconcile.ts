import type { Message } from '../../contract/completion.ts'

/** A message of the merged conversation, and where the two accounts of it differ. */
export interface Reconciled {
  message: Message
  /**
   * `here`: the service's history does not have it. `service`: only that has it. `longer`: the
   * history has more of it, which is what `message` holds. `shorter`: the history has less.
   */
  mark: 'none' | 'here' | 'service' | 'longer' | 'shorter'
}

/** The most messages at the end of either account that are compared. */
const compared = 200

/**
 * Merges what this machine recorded with the end of what the service says: in the order of both,
 * nothing left out.
 *
 * @param local all of it
 * @param remote the newest page, oldest first
 * @param isWhole whether nothing comes before `remote`
 */
export function reconcile(
  local: readonly Message[],
  remote: readonly Message[],
  isWhole: boolean,
): Reconciled[] {
  const here = local.slice(-compared)
  const there = remote.slice(-compared)
  const merged = align(here, there)
  // What comes before a page that is not the first is not missing from the history.
  const firstShared = isWhole ? 0 : merged.findIndex(({ mark }) => mark !== 'here')
  const before = local.slice(0, local.length - here.length)
  // Where ours is compared whole, what precedes the service's end is older than all of it.
  const older = before.length > 0 ? [] : remote.slice(0, remote.length - there.length)
  return [
    ...older.map((message): Reconciled => ({ message, mark: 'service' })),
    ...before.map((message): Reconciled => ({ message, mark: 'none' })),
    ...merged.map((entry, index): Reconciled => (index < firstShared ? { ...entry, mark: 'none' } : entry)),
  ]
}

/** By the longest common subsequence. */
function align(here: readonly Message[], there: readonly Message[]): Reconciled[] {
  const width = there.length + 1
  const lengths = new Uint16Array((here.length + 1) * width)
  const at = (row: number, column: number): number => lengths[row * width + column] ?? 0
  for (let row = here.length - 1; row >= 0; row--) {
    for (let column = there.length - 1; column >= 0; column--) {
      lengths[row * width + column] = match(here[row], there[column])
        ? at(row + 1, column + 1) + 1
        : Math.max(at(row + 1, column), at(row, column + 1))
    }
  }
  const merged: Reconciled[] = []
  let row = 0
  let column = 0
  while (row < here.length || column < there.length) {
    const ours = here[row]
    const theirs = there[column]
    const mark = match(ours, theirs)
    if (ours && theirs && mark) {
      merged.push({ message: mark === 'longer' ? theirs : ours, mark })
      row++
      column++
    } else if (ours && (!theirs || at(row + 1, column) >= at(row, column + 1))) {
      merged.push({ message: ours, mark: 'here' })
      row++
    } else if (theirs) {
      merged.push({ message: theirs, mark: 'service' })
      column++
    }
  }
  return merged
}

/** Whether two accounts are of one message: one may have been cut off. */
function match(ours: Message | undefined, theirs: Message | undefined): Reconciled['mark'] | undefined {
  if (!ours || !theirs || ours.role !== theirs.role) return undefined
  if (ours.content === theirs.content) return 'none'
  if (ours.role !== 'assistant' || ours.content === '' || theirs.content === '') return undefined
  if (theirs.content.startsWith(ours.content)) return 'longer'
  return ours.content.startsWith(theirs.content) ? 'shorter' : undefined
}
