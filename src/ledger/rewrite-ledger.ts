import { existsSync, linkSync, rmSync, statSync } from 'node:fs'
import { endpoints } from '../contract/endpoints.ts'
import { Failure, type Outcome } from '../contract/failure.ts'
import { systemFailure } from '../system/describe-system-error.ts'
import { replaceFile } from '../system/files/replace-file.ts'
import { linesWith } from '../system/files/shared-lines.ts'
import { importsIn } from './imports.ts'
import { isRequestTo, type PlacedEntry, runOf } from './knowledge.ts'
import { Ledger } from './ledger.ts'
import { lineOf, readRecord, type StateNote } from './record.ts'
import { lockLedger } from './use-lock.ts'

/**
 * Erases changes from a ledger, so that its files no longer contain them.
 * @param find the changes in a ledger, under the lock
 * @throws Failure `conflict` if a run has the ledger open; `storage` if the ledger cannot be rewritten
 */
export function eraseChanges(
  { path, archive }: Ledger,
  find: (ledger: Ledger) => readonly PlacedEntry[],
): readonly PlacedEntry[] {
  if (!existsSync(path)) return []
  return withRewriteLock(path, (isFree) => {
    if (!isFree) {
      throw new Failure('conflict', 'Another chatctl process is sending changes to this service', {
        hint: 'Nothing was erased. Run the command again when the other process has ended.',
      })
    }
    const erased = new Map<string, PlacedEntry>()
    for (const file of [archive, path]) {
      const found = find(new Ledger(file))
      for (const entry of found) erased.set(entry.id, entry)
      if (found.length > 0) rewrite(file, (id) => id === undefined || !erased.has(id))
    }
    return [...erased.values()]
  })
}

/**
 * Rewrites a large ledger with the changes that a question needs: those whose outcome is not certain, those that were
 * last sent for a field, creations, and changes with values. The old file becomes the archive, which has the other
 * changes for `entries`, until the next time. Does nothing while a run has the ledger open.
 * @param limit size in bytes from which a ledger is rewritten
 * @throws Failure `storage`
 */
export function compactLedger({ path, archive }: Ledger, limit = 32 * 1024 * 1024): void {
  const sizeOf = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0
  if (sizeOf(path) < limit || sizeOf(path) < 2 * sizeAfterRewrite(path)) return
  withRewriteLock(path, (isFree) => {
    if (!isFree) return
    const dropped = droppedFrom(new Ledger(path))
    const keptRuns = new Set<string>()
    for (const { text } of linesWith(path, ['"id":"'])) {
      const id = idIn(text)
      if (id !== undefined && !dropped.has(id)) keptRuns.add(runOf(id))
    }
    const runs = new Set(Array.from(dropped, runOf).filter((run) => !keptRuns.has(run)))
    rmSync(archive, { force: true })
    linkSync(path, archive)
    rewrite(path, (id = '', run = '') => !dropped.has(id) && !runs.has(run))
  })
}

/** IDs of the changes that no question needs. The lines are not held in memory, because they are many. */
function droppedFrom(ledger: Ledger): Set<string> {
  const outcomes = new Map<string, Outcome>()
  for (const { text } of linesWith(ledger.path, ['"of":"'])) {
    const record = readRecord(text)
    if (record && 'of' in record) outcomes.set(record.of, record.did)
  }
  const open = importsIn(ledger).filter(({ isClosed }) => !isClosed)
  const openRuns = new Set(open.flatMap((one) => one.openRuns))
  // From the last change of a generation of a state file, others are newer.
  const lasts = new Set(ledger.notesWith<StateNote>('state').map(({ after }) => after))
  const dropped = new Set<string>()
  /** The last change of each field of a user. */
  const owners = new Map<string, string>()
  for (const { text } of linesWith(ledger.path, ['"id":"'])) {
    const record = readRecord(text)
    if (!record || !('id' in record)) continue
    const { id, user, values, method, sent = {} } = record
    const outcome = outcomes.get(id)
    const isRefused = outcome === 'refused'
    const isCreation = isRequestTo(endpoints.createUser, record) && !isRefused
    const isPartOf = openRuns.has(runOf(id)) || lasts.has(id) || method === 'GET'
    const isCertain = outcome === 'done' || isRefused
    const isNeeded = !isCertain || isCreation || isPartOf || values !== undefined
    if (!isNeeded) dropped.add(id)
    if (!isRefused) for (const field of Object.keys(sent)) owners.set(JSON.stringify([user, field]), id)
  }
  for (const id of owners.values()) dropped.delete(id)
  return dropped
}

/** The ID of a change in one of its lines. */
function idIn(text: string): string | undefined {
  return /"(?:id|of)":"([^"]*)"/.exec(text)?.[1]
}

function sizeAfterRewrite(path: string): number {
  const [line] = linesWith(path, ['{"rewritten":'])
  const record = line && readRecord(line.text)
  return record && 'rewritten' in record ? record.rewritten : 0
}

/** @param keep is given the ID of the change, or of the run of its first line */
function rewrite(path: string, keep: (id: string | undefined, run: string | undefined) => boolean): void {
  const kept: string[] = []
  for (const { text } of linesWith(path, ['"'])) {
    const run = /^\{"run":"([^"]*)"/.exec(text)?.[1]
    const id = run === undefined ? idIn(text) : undefined
    if (keep(id, run)) kept.push(`${text}\n`)
  }
  const content = kept.join('')
  const first = lineOf({ rewritten: Buffer.byteLength(content) })
  replaceFile(path, `${first}\n${content}`, { flush: true })
}

function withRewriteLock<T>(path: string, work: (isFree: boolean) => T): T {
  let release: (() => void) | undefined
  try {
    release = lockLedger(`${path}.lock`, 'rewrite')
    return work(release !== undefined)
  } catch (cause) {
    throw systemFailure(`Cannot rewrite the ledger ${path}`, cause)
  } finally {
    release?.()
  }
}
