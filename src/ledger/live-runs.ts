import { existsSync } from 'node:fs'
import type { Outcome } from '../contract/failure.ts'
import { isRunning } from '../system/is-running.ts'
import { once } from '../system/once.ts'
import { type PlacedEntry, runOf } from './knowledge.ts'
import type { Ledger } from './ledger.ts'
import { lockLedger } from './use-lock.ts'

export type ShownOutcome = Outcome | 'in_progress'

/** @returns tells changes that are in progress, in runs that have not ended, from unknown ones */
export function outcomesIn(...ledgers: readonly Ledger[]) {
  const live = once(() => {
    const open = ledgers.filter(({ path }) => isOpen(path)).flatMap((ledger) => ledger.openRuns())
    return new Set(open.filter(({ pid }) => isRunning(pid)).map(({ run }) => run))
  })
  return ({ id, outcome, error }: Pick<PlacedEntry, 'id' | 'outcome' | 'error'>): ShownOutcome =>
    outcome === 'unknown' && error === null && live().has(runOf(id)) ? 'in_progress' : outcome
}

/** Whether a run has the ledger open. A process ID alone may belong to a later process. */
function isOpen(path: string): boolean {
  if (!existsSync(path)) return false
  try {
    const release = lockLedger(`${path}.lock`, 'rewrite')
    release?.()
    return release === undefined
  } catch {
    return false
  }
}
