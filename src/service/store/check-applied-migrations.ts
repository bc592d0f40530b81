import { Failure } from '../../contract/failure.ts'
import { ApiError } from '../api-error.ts'
import { type Migration, migrations } from './migrations/migrations.ts'

/** A row of the table `migrations`, the same in both engines. */
export interface AppliedMigration {
  number: number
  name: string
  checksum: string
}

/** The checksum of the SQLite text, on both engines. */
export const checksumOf = ({ statements, checksum }: Migration): string =>
  checksum ?? process.getBuiltinModule('node:crypto').hash('sha256', statements)

/**
 * Compares the migrations that ran on a database with those of this program.
 * @param location the database in words
 * @returns the number of the newest migration that ran
 * @throws Failure `storage` for data of a newer program, or for a different migration with the same number
 */
export function checkAppliedMigrations(
  applied: readonly AppliedMigration[],
  wanted: readonly Migration[],
  location: string,
): number {
  for (const { number, name, checksum } of applied) {
    const known = wanted[number - 1]
    if (!known) {
      throw new Failure(
        'storage',
        `${location} was created by a newer chatctl (schema ${applied.length}; this version supports ${wanted.length}); nothing was changed`,
        { hint: 'Install the newest version of chatctl' },
      )
    }
    if (checksumOf(known) !== checksum) {
      throw new Failure(
        'storage',
        `${location} has a different migration ${number} (${name}) than this chatctl; nothing was changed`,
        { hint: 'Use the version of chatctl that created it, or restore it from a backup' },
      )
    }
  }
  return applied.length
}

/** @throws ApiError `storage_migrated` if another process has migrated the data since this one opened it */
export function requireKnownSchema(newest: number): void {
  if (newest <= migrations.length) return
  throw new ApiError(
    'storage_migrated',
    `A newer chatctl has migrated the data (schema ${newest}; this process supports ${migrations.length}): restart it with the newer version`,
    { details: { stored: false } },
  )
}

/** The Failure for a database that is not of chatctl. */
export const foreignDatabase = (location: string, hint: string): Failure =>
  new Failure('storage', `${location} belongs to another program; nothing was changed`, { hint })
