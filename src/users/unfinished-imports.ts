import { existsSync, realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import { lockInput } from '../bulk/file-run.ts'
import { endpoints, isRequestTo } from '../contract/endpoints.ts'
import type { LedgerEntry } from '../ledger/changes.ts'
import { Ledger } from '../ledger/ledger.ts'
import { runOf } from '../ledger/record.ts'
import type { Run } from '../run/run.ts'
import { type ImportKnowledge, importsIn } from './imports.ts'
import { usersIn } from './sent-users.ts'

/** An import with rows that are not sent, or whose outcome is unknown. */
export interface UnfinishedImport
  extends Pick<ImportKnowledge, 'import' | 'file' | 'text' | 'rows' | 'openRuns'> {
  service: string
  /** Rows for which something was sent. The others may have faults, so that they are never sent. */
  sent: number
  /** Rows whose create has an unknown outcome. */
  unknown: number
}

export function findUnfinishedImports({ directories }: Pick<Run, 'directories'>): UnfinishedImport[] {
  return Ledger.all(directories).flatMap(unfinishedIn)
}

function unfinishedIn(ledger: Ledger): UnfinishedImport[] {
  const open = importsIn(ledger).filter(({ openRuns, isClosed }) => openRuns.length > 0 && !isClosed)
  if (open.length === 0) return []
  const { service = '' } = ledger.header ?? {}
  const changes = ledger.userChanges()
  return open.flatMap(({ import: kind, file, text, rows, runs, openRuns }) => {
    // A change without a response, or with a 429, was certainly not done, and is sent again.
    const isSent = ({ method, outcome, status }: LedgerEntry) =>
      method !== 'GET' && (outcome !== 'refused' || (status ?? 429) !== 429)
    const all = new Set(runs)
    const own = changes.filter((entry) => all.has(runOf(entry)) && isSent(entry))
    // Rows without an id are not sent again after a finished run.
    const counted = own.filter(
      (entry) => openRuns.includes(runOf(entry)) || isRequestTo(endpoints.createUser, entry),
    )
    const users = new Set(counted.map(({ email, user_id: id }) => id ?? email))
    const unknown = [...usersIn(own).values()].filter(
      ({ creation, skippedBy }) => creation === 'unknown' && skippedBy === undefined,
    ).length
    if (own.length === 0) return []
    return { import: kind, file, text, rows, openRuns, service, sent: users.size, unknown }
  })
}

/**
 * Closes the unfinished imports of a file. A later run of the file resumes them.
 * @param which.file need not exist any more; `-` is stdin
 * @returns the closed imports
 * @throws Failure `conflict` if one of them is running; `storage`
 */
export async function closeImports(
  run: Run,
  { file, kind }: { file: string; kind: ImportKnowledge['import'] },
): Promise<UnfinishedImport[]> {
  const path = file === '-' ? undefined : resolve(run.resolvePath(file))
  const name = path === undefined ? 'stdin' : existsSync(path) ? realpathSync(path) : path
  const closed = unfinishedIn(Ledger.of(run.directories, run.service)).filter(
    (found) => found.file === name && found.import === kind,
  )
  if (closed.length === 0) return []
  const unlock = lockInput(run, { name: file, path }, 'importing')
  try {
    for (const { import: kind, file, text, rows, openRuns: runs } of closed)
      await run.note({ import: kind, file, text, rows, restarted: false, ended: 'closed', runs }, true)
  } finally {
    unlock?.()
  }
  return closed
}
