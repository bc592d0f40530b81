import { accessSync, constants, existsSync, realpathSync, rmSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { Failure } from '../../../contract/failure.ts'
import { type Clock, isoNow } from '../../../system/clock.ts'
import { systemFailure } from '../../../system/describe-system-error.ts'
import { makePrivateDirectory } from '../../../system/files/private-directory.ts'
import { moveFile, moveIntoPlace } from '../../../system/files/replace-file.ts'
import { openDatabase, sqliteUrl } from '../../../system/sqlite.ts'
import { storageFailure } from '../storage-failure.ts'
import { schemaVersion } from './migrate-sqlite.ts'
import { databaseFile, isInUse, makePrivateFile } from './open-sqlite.ts'

export interface Backup {
  file: string
  bytes: number
  schema_version: number
}

/** How long, in ms, to wait for a lock of another process. */
const busyTimeout = 10_000
/** Copies everything in one step: a copy in several steps starts again after each write. */
const wholeDatabase = 0x7fff_ffff

/**
 * Copies a consistent state of the data of a directory, also while a service writes. The copy gets its
 * name when it is complete, checked, and flushed to disk.
 * @param replaces whether it replaces a file
 * @throws Failure `conflict` for a file that exists, `not_found` without data, `storage`
 */
export async function backUp(directory: string, target: string, replaces: boolean): Promise<Backup> {
  const file = resolve(target)
  const data = databaseFile(directory)
  requireReadable(data, new Failure('not_found', `No data in ${directory} yet`))
  if (existsSync(file) && realpathSync(file) === realpathSync(data))
    throw new Failure('usage', `${file} is the data of the service`, { hint: 'Choose another file name.' })
  if (existsSync(file) && !replaces)
    throw new Failure('conflict', `${file} already exists`, { advice: [{ code: 'replace_file' }] })
  const partial = `${file}.partial`
  let source: DatabaseSync | undefined
  try {
    source = openDatabase(data, { timeout: busyTimeout })
    await copyInto(partial, source)
    const version = checkBackup(partial)
    moveIntoPlace(partial, file)
    return { file, bytes: statSync(file).size, schema_version: version }
  } catch (error) {
    removePartial(partial)
    throw isSystemError(error)
      ? systemFailure(`Cannot write ${file}`, error)
      : storageFailure(error, dirname(file), file)
  } finally {
    source?.close()
  }
}

/** A backup is one file, and reading it creates no other files. */
function disableWriteAheadLog(file: string): void {
  const database = openDatabase(file)
  database.exec('pragma journal_mode = delete')
  database.close()
}

export interface Restored {
  data: string
  restored_from: string
  /** The file of the previous data; null if there was none. */
  kept: string | null
  schema_version: number
}

/**
 * Replaces the data of a directory with a backup. Keeps the previous data beside it, even if it is damaged
 * or of a newer chatctl.
 * @throws as `checkBackup`; Failure `conflict` while another process has the data open; nothing is changed then
 */
export async function restore(directory: string, backup: string, clock: Clock): Promise<Restored> {
  const file = resolve(backup)
  const data = databaseFile(directory)
  const partial = `${data}.partial`
  let source: DatabaseSync | undefined
  try {
    const version = checkBackup(file)
    makePrivateDirectory(dirname(data))
    source = openBackup(file)
    await copyInto(partial, source)
    demandUnused(data)
    const kept = existsSync(data) ? join(dirname(data), `before-restore-${timestamp(clock)}.db`) : null
    if (kept) moveDatabase(data, kept)
    moveIntoPlace(partial, data)
    return { data, restored_from: file, kept, schema_version: version }
  } catch (error) {
    removePartial(partial)
    throw storageFailure(error, resolve(directory), file)
  } finally {
    source?.close()
  }
}

/**
 * The record of a service in another container names a process that does not exist here. The locks of SQLite have no
 * such limit.
 * @throws Failure `conflict`; `storage` for a file that cannot be opened
 */
function demandUnused(file: string): void {
  if (!existsSync(file)) return
  try {
    if (!isInUse(file)) return
  } catch (error) {
    throw storageFailure(error, dirname(file), file)
  }
  throw new Failure('conflict', `Another process has ${file} open`, {
    hint: 'Stop the service on this data, also in other containers, and end other processes of chatctl.',
  })
}

/** Ignores errors, so that the first one is reported. Without the directory, there is no such file either. */
function removePartial(file: string): void {
  try {
    rmSync(file, { force: true })
  } catch {}
}

/** Also moves the write-ahead log, which may contain data that is not in the database file yet. */
function moveDatabase(from: string, to: string): void {
  for (const suffix of ['-wal', '-shm', '']) {
    if (existsSync(from + suffix)) moveFile(from + suffix, to + suffix)
  }
}

/** Opens with `immutable`, so that SQLite creates no files beside the backup. */
function openBackup(file: string): DatabaseSync {
  requireReadable(file, new Failure('refused', `No backup ${file}`))
  if (existsSync(`${file}-wal`)) {
    throw new Failure('storage', `${file} is in use, or was copied while in use; it may be incomplete`, {
      advice: [{ code: 'back_up_again' }],
    })
  }
  const url = sqliteUrl(file)
  url.search = 'immutable=1'
  return openDatabase(url, { readOnly: true })
}

/** @throws `absent` for a file that does not exist; Failure `storage` for one that cannot be read */
function requireReadable(file: string, absent: Failure): void {
  try {
    accessSync(file, constants.R_OK)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') throw absent
    throw systemFailure(`Cannot read ${file}`, cause)
  }
}

/** Copies into a new private file. */
async function copyInto(target: string, source: DatabaseSync): Promise<void> {
  rmSync(target, { force: true })
  makePrivateFile(target)
  const { backup } = process.getBuiltinModule('node:sqlite')
  await backup(source, target, { rate: wholeDatabase })
  disableWriteAheadLog(target)
}

/**
 * Checks that a file is a complete database of chatctl.
 * @returns the number of its newest migration
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
    const failure = storageFailure(error, dirname(file), file)
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

/** The current time for a file name. */
const timestamp = (clock: Clock): string => isoNow(clock).replaceAll(/[:.]/g, '-')
