import { accessSync, constants, existsSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { Failure } from '../../../contract/failure.ts'
import { type Clock, isoNow } from '../../../system/clock.ts'
import { describeSystemError } from '../../../system/describe-system-error.ts'
import { loadSqlite } from '../../../system/load-sqlite.ts'
import { makePrivateDirectory } from '../../../system/private-directory.ts'
import { moveIntoPlace } from '../../../system/replace-file.ts'
import { schemaVersion } from './migrate-sqlite.ts'
import { databaseFile, makePrivateFile, openSqlite } from './open-sqlite.ts'
import { sqliteFailure } from './sqlite-errors.ts'

export interface Backup {
  file: string
  bytes: number
  schema_version: number
}

/** How long, in ms, a lock of another process is waited for. */
const busyTimeout = 10_000
/** One step copies everything: a copy in many steps begins anew whenever somebody writes. */
const wholeDatabase = 0x7fff_ffff

/**
 * Copies the data of a folder as it is at one moment, also while a service writes. The copy appears
 * under its name when it is whole, checked and on the disk.
 * @throws Failure `conflict` for a file that exists, `not_found` where there is no data, `storage`
 */
export async function backUp(directory: string, target: string): Promise<Backup> {
  const file = resolve(target)
  if (existsSync(file)) {
    throw new Failure('conflict', `${file} already exists`, {
      hint: 'Choose another file name; a backup never replaces a file',
    })
  }
  const data = databaseFile(directory)
  requireReadable(data, new Failure('not_found', `No data in ${directory} yet`))
  const partial = `${file}.partial`
  let source: DatabaseSync | undefined
  try {
    const { DatabaseSync } = loadSqlite()
    source = new DatabaseSync(data, { timeout: busyTimeout })
    await copyInto(partial, source)
    const version = checkBackup(partial)
    moveIntoPlace(partial, file)
    return { file, bytes: statSync(file).size, schema_version: version }
  } catch (error) {
    removePartial(partial)
    throw isSystemError(error)
      ? new Failure('storage', `Cannot write ${file}: ${describeSystemError(error)}`, { cause: error })
      : sqliteFailure(error, dirname(file), file)
  } finally {
    source?.close()
  }
}

/** One file is all that a backup consists of, and reading it makes no others. */
function disableWriteAheadLog(file: string): void {
  const { DatabaseSync } = loadSqlite()
  const database = new DatabaseSync(file)
  database.exec('pragma journal_mode = delete')
  database.close()
}

export interface Restored {
  data: string
  restored_from: string
  /** The data that was there before; null where there was none. */
  kept: string | null
  schema_version: number
}

/**
 * Puts a backup in the place of the data of a folder, and keeps what was there beside it, whatever
 * state that is in: damaged, or of a newer chatctl. The caller sees to it that no service runs.
 * @throws as `checkBackup`; nothing is changed then
 */
export async function restore(directory: string, backup: string, clock: Clock): Promise<Restored> {
  const file = resolve(backup)
  const data = databaseFile(directory)
  const partial = `${data}.partial`
  let source: DatabaseSync | undefined
  try {
    checkBackup(file)
    makePrivateDirectory(dirname(data))
    source = openBackup(file)
    await copyInto(partial, source)
    const kept = existsSync(data) ? join(dirname(data), `before-restore-${timestamp(clock)}.db`) : null
    if (kept) moveDatabase(data, kept)
    moveIntoPlace(partial, data)
    // A backup of an older program is brought up to date here, not at the next start.
    const store = openSqlite(directory)
    const version = schemaVersion(store.connection, data)
    await store.close()
    return { data, restored_from: file, kept, schema_version: version }
  } catch (error) {
    removePartial(partial)
    throw sqliteFailure(error, resolve(directory), file)
  } finally {
    source?.close()
  }
}

/** What failed before this is what is told: where there is no folder, there is no file in it either. */
function removePartial(file: string): void {
  try {
    rmSync(file, { force: true })
  } catch {}
}

/** With its log, in which there may be what no checkpoint has written back. */
function moveDatabase(from: string, to: string): void {
  for (const suffix of ['-wal', '-shm', '']) {
    if (existsSync(from + suffix)) renameSync(from + suffix, to + suffix)
  }
}

/** A file that nobody writes; as `immutable`, so that SQLite makes no files of its own beside it. */
function openBackup(file: string): DatabaseSync {
  requireReadable(file, new Failure('refused', `No backup ${file}`))
  if (existsSync(`${file}-wal`)) {
    throw new Failure('storage', `${file} is in use, or was copied while in use; it may be incomplete`, {
      advice: [{ code: 'back_up_again' }],
    })
  }
  const url = pathToFileURL(file)
  url.search = 'immutable=1'
  const { DatabaseSync } = loadSqlite()
  return new DatabaseSync(url, { readOnly: true })
}

/** @throws `absent` for a file that does not exist; Failure `storage` for one that cannot be read */
function requireReadable(file: string, absent: Failure): void {
  try {
    accessSync(file, constants.R_OK)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') throw absent
    throw new Failure('storage', `Cannot read ${file}: ${describeSystemError(cause)}`, { cause })
  }
}

/** Into a new file of its owner's alone. */
async function copyInto(target: string, source: DatabaseSync): Promise<void> {
  rmSync(target, { force: true })
  makePrivateFile(target)
  const { backup } = process.getBuiltinModule('node:sqlite')
  await backup(source, target, { rate: wholeDatabase })
  disableWriteAheadLog(target)
}

/**
 * Whether a file is data of ours and whole.
 * @returns the number of its schema
 * @throws Failure `refused` for a file that does not exist, `storage`
 */
export function checkBackup(backup: string): number {
  const file = resolve(backup)
  let database: DatabaseSync | undefined
  try {
    database = openBackup(file)
    const version = schemaVersion(database, file)
    const [result] = database.prepare('pragma integrity_check').all() as { integrity_check: string }[]
    if (version > 0 && result?.integrity_check === 'ok') return version
    throw new Failure('storage', `${file} is empty or damaged`)
  } catch (error) {
    const failure = sqliteFailure(error, dirname(file), file)
    const isOfData = failure instanceof Failure && failure.kind === 'storage' && failure.cause !== undefined
    throw isOfData ? notABackup(file, error) : failure
  } finally {
    database?.close()
  }
}

const notABackup = (file: string, cause: unknown): Failure =>
  new Failure('storage', `${file} is not a backup of chatctl, or is damaged`, {
    hint: 'Use another backup; nothing was changed',
    cause,
  })

const isSystemError = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && /^E[A-Z]+$/.test(String(error.code))

/** Of now, as names of files take it. */
const timestamp = (clock: Clock): string => isoNow(clock).replaceAll(/[:.]/g, '-')
