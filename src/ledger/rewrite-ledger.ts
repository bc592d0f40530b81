import { existsSync, linkSync, rmSync, statSync } from 'node:fs'
import { endpoints, isRequestTo } from '../contract/endpoints.ts'
import { Failure, type Outcome } from '../contract/failure.ts'
import { systemFailure } from '../system/describe-system-error.ts'
import { replaceFile } from '../system/files/replace-file.ts'
import { linesWith } from '../system/files/shared-lines.ts'
import { UseLock } from '../system/files/use-lock.ts'
import type { LedgerEntry } from './changes.ts'
import { Ledger } from './ledger.ts'
import { type ImportNote, lineOf, readRecord, runOf, type StateNote } from './record.ts'

/** Every change that names a user, also if only the archive has it, oldest first. @throws as `Ledger` */
export function changesNaming({ path, archive }: Ledger, user: string): LedgerEntry[] {
  const ledgers = [new Ledger(archive), new Ledger(path)]
  for (let names = [user]; ; ) {
    const found = ledgers.flatMap((ledger) => ledger.changesOfUser(...names))
    // What only one of them links belongs to the user in the other one, too.
    const all = new Set(found.flatMap(({ email, user_id: id }) => [email?.toLowerCase(), id]))
    const known = [...new Set([user, ...all])].filter((name) => typeof name === 'string')
    if (known.length === names.length) return [...new Map(found.map((entry) => [entry.id, entry])).values()]
    names = known
  }
}

/**
 * Erases every change that names a user, so that the files no longer contain it.
 * @throws Failure `conflict` if a run has the ledger open; `storage` if the ledger cannot be rewritten
 */
export function eraseUser(ledger: Ledger, user: string): readonly LedgerEntry[] {
  const { path, archive } = ledger
  if (!existsSync(path)) return []
  return withRewriteLock(path, (isFree) => {
    if (!isFree) {
      throw new Failure('conflict', 'Another chatctl process is sending changes to this service', {
        hint: 'Nothing was erased. Run the command again when the other process has ended.',
      })
    }
    const erased = changesNaming(ledger, user)
    const ids = new Set(erased.map(({ id }) => id))
    for (const file of [archive, path].map((name) => new Ledger(name)))
      if (ids.size > 0 && existsSync(file.path)) rewrite(file, (id) => !ids.has(id), file.header?.archived)
    return erased
  })
}

/**
 * Rewrites a large ledger with the changes that a question needs: those whose outcome is not certain, those that were
 * last sent for a field, creations, and changes with values. The old file becomes the archive, which has the other
 * changes for `entries`, until the next time. Does nothing while a run has the ledger open.
 * @param limit size in bytes from which a ledger is rewritten
 * @throws Failure `storage`
 */
export function compactLedger(ledger: Ledger, limit = 32 * 1024 * 1024): void {
  const { path, archive } = ledger
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (size < limit || size < 2 * (ledger.header?.archived ?? 0)) return
  withRewriteLock(path, (isFree) => {
    if (!isFree) return
    const dropped = droppedFrom(ledger)
    rmSync(archive, { force: true })
    linkSync(path, archive)
    rewrite(ledger, (id) => !dropped.has(id), Number.POSITIVE_INFINITY)
  })
}

/** IDs of the changes that no question needs. The lines are not held in memory, because they are many. */
function droppedFrom(ledger: Ledger): Set<string> {
  const outcomes = new Map<string, Outcome>()
  for (const { text } of linesWith(ledger.path, ['"of":"'])) {
    const record = readRecord(text)
    if (record && 'of' in record) outcomes.set(record.of, record.did)
  }
  const openRuns = new Set<string>()
  for (const { by, runs = [], ended } of ledger.notesWith<ImportNote>('import')) {
    if (!ended) openRuns.add(by)
    else if (ended !== 'interrupted') for (const run of [by, ...runs]) openRuns.delete(run)
  }
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
    const isPartOf = openRuns.has(runOf(record)) || lasts.has(id) || method === 'GET'
    const isCertain = outcome === 'done' || isRefused
    const isNeeded = !isCertain || isCreation || isPartOf || values !== undefined
    if (!isNeeded) dropped.add(id)
    if (!isRefused) for (const field of Object.keys(sent)) owners.set(JSON.stringify([user, field]), id)
  }
  for (const id of owners.values()) dropped.delete(id)
  return dropped
}

/**
 * @param isKept is given the ID of a change
 * @param archived offset after the lines that the archive has, too; undefined without one
 */
function rewrite(
  { path, header }: Ledger,
  isKept: (id: string) => boolean,
  archived: number | undefined,
): void {
  const kept: string[] = []
  let size = 0
  for (const { text, at } of linesWith(path, ['"'])) {
    const [, id = ''] = /"(?:id|of)":"([^"]*)"/.exec(text) ?? []
    if (text.startsWith('{"ledger":') || (id !== '' && !isKept(id))) continue
    kept.push(`${text}\n`)
    if (at < (archived ?? 0)) size += Buffer.byteLength(text) + 1
  }
  const part = archived === undefined ? {} : { archived: size }
  const first = header && lineOf({ ledger: 1, service: header.service, ...part })
  replaceFile(path, [first, '\n', ...kept].join(''), { flush: true })
}

function withRewriteLock<T>(path: string, work: (isFree: boolean) => T): T {
  let lock: UseLock | undefined
  try {
    lock = new UseLock(path)
    return work(lock.hold('rewrite'))
  } catch (cause) {
    throw systemFailure(`Cannot rewrite the ledger ${path}`, cause)
  } finally {
    lock?.close()
  }
}
