import { createHash } from 'node:crypto'
import { Failure } from '../../contract/failure.ts'
import type { Migration } from './migrations/migrations.ts'

/** A row of the table `migrations`, which both engines keep alike. */
export interface AppliedMigration {
  number: number
  name: string
  checksum: string
}

/** Of the text as it stands in the list, on every engine. */
export const checksumOf = ({ statements }: Migration): string =>
  createHash('sha256').update(statements).digest('hex')

/**
 * Compares what a database says has run on it with what this program knows.
 * @param location the database in words
 * @returns the number of the newest schema that it has
 * @throws Failure `storage` for a newer program's data, or another migration of the same number
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
        { hint: 'Install the newer chatctl with: npm install -g chatctl@latest' },
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

/** What lies there is not ours. */
export const foreignDatabase = (location: string, hint: string): Failure =>
  new Failure('storage', `${location} belongs to another program; nothing was changed`, { hint })
