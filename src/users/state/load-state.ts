import { statSync } from 'node:fs'
import type { Failure } from '../../contract/failure.ts'
import { EntryTable, type Repeated } from './entry-table.ts'
import type { StateEntry } from './state-entry.ts'
import { assertNotDeleted, invalid, readStateFile, type StateFile, type StateHeader } from './state-file.ts'
import { otherService, readJournal, type StateChange } from './state-journal.ts'

export interface ExpectedState {
  /** The service that the users belong to. */
  service: string
  signal: AbortSignal
}

export interface LoadedState {
  /** Of the file, when it was opened. */
  identity: string | undefined
  header: StateHeader
  table: EntryTable
  exists: boolean
}

/**
 * Reads the file and the journal without the lock. A process that ends replaces the file and then removes the
 * journal, so both are read again if the file was replaced meanwhile.
 */
export async function loadConsistently(file: StateFile, options: ExpectedState): Promise<LoadedState> {
  for (;;) {
    const loaded = await load(file, options)
    try {
      readJournal(file, options.service, replayInto(loaded))
    } catch (error) {
      loaded.table.close()
      throw error
    }
    if (identityOf(file) === loaded.identity) return loaded
    loaded.table.close()
  }
}

export function identityOf({ path }: StateFile): string | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stats && `${stats.ino} ${stats.mtimeNs}`
}

/** @throws Failure `refused` for invalid content; `conflict` for another service or version */
export async function load(file: StateFile, { service, signal }: ExpectedState): Promise<LoadedState> {
  assertNotDeleted(file)
  const identity = identityOf(file)
  const exists = identity !== undefined
  const table = new EntryTable()
  try {
    const header = exists ? await readInto(table, file, signal) : { service, serial: 0 }
    if (header.service !== service) throw otherService(file.name, header.service, service)
    return { identity, header: { service, serial: header.serial }, table, exists }
  } catch (error) {
    table.close()
    throw error
  }
}

/** @throws Failure `refused` if two entries have the same email or id */
async function readInto(table: EntryTable, file: StateFile, signal: AbortSignal): Promise<StateHeader> {
  const header = await readStateFile(file, signal, (entry, line) => {
    const repeated = table.load(entry, line)
    if (repeated !== undefined) throw repeatedIn(file, repeated)
  })
  const repeated = table.endLoading()
  if (repeated !== undefined) throw repeatedIn(file, repeated)
  return header
}

function repeatedIn(file: StateFile, { line, earlier, ...value }: Repeated): Failure {
  const where = `is also on line ${earlier}`
  if ('email' in value)
    return invalid(file, line, `${JSON.stringify(value.email)} ${where}`, 'Keep one of the two.')
  const hint = 'Keep the one with the email that the service reports for this id.'
  return invalid(file, line, `the id ${JSON.stringify(value.id)} ${where}, with another email`, hint)
}

/**
 * A journal usually continues the file beside it. If the file was replaced, for example by that of another
 * branch, neither is known to be newer: then no user is lost, and only hashes on which both agree are kept.
 */
export function replayInto(loaded: LoadedState): (change: StateChange, serial: number) => void {
  const { table, header } = loaded
  return (change, serial) => {
    loaded.exists = true
    const isContinued = serial === header.serial
    if ('removed' in change) {
      if (isContinued || table.original(change.removed)?.id === undefined) table.remove(change.removed)
      return
    }
    const found = isContinued ? undefined : table.original(change.email)
    table.put(found === undefined ? change : combined(found, change))
  }
}

/** From the least that can be known about a creation to the most. */
const creations: readonly StateEntry['creation'][] = ['forgotten', 'unknown', 'nameless', undefined]

/** The entry of the two that says more; of two with an ID, the first one, with the hashes on which both agree. */
export function combined(one: StateEntry, other: StateEntry): StateEntry {
  const more = creations.indexOf(other.creation) - creations.indexOf(one.creation)
  if (more !== 0) return more > 0 ? other : one
  const hashes = Object.entries(one.hashes).filter(([path, hash]) => other.hashes[path] === hash)
  return { ...one, hashes: Object.fromEntries(hashes) }
}
