import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { Failure } from '../../contract/failure.ts'
import type { CheckedInput } from '../input/check-input.ts'
import type { Input } from '../input/input.ts'
import type { InputRow } from '../input/input-row.ts'
import { readRows } from '../input/read-rows.ts'
import type { Journal } from '../journal/journal.ts'
import type { RowKind } from '../rows/user-row.ts'
import { openResults } from './report-rows.ts'
import type { WrittenResult } from './results-file.ts'
import { resultOf } from './row-result.ts'
import { holdsPasswords, lacksPassword, openPasswords, type PasswordsInOrder } from './stored-passwords.ts'

interface Preparing {
  input: Input
  kind: RowKind
  checked: CheckedInput
  journal: Journal
  results: string
  makePassword(): string
}

/**
 * Has a password in the file of results for every user that is to be created without one, and the
 * file on disk, before any request leaves.
 *
 * @returns how many rows were sent with a password that the file no longer has
 */
export async function preparePasswords(preparing: Preparing): Promise<number> {
  const { input, kind, checked, journal, results, makePassword } = preparing
  const passwords = openPasswords(journal, results)
  journal.noteFile({ type: 'passwords', path: resolve(results) })
  await journal.sync()
  const writer = openResults(results, true)
  let lost = 0
  try {
    for await (const batch of readRows(input, kind)) {
      const written: WrittenResult[] = []
      for (const row of batch) {
        const result = resultOf(row, checked.faulty, journal)
        const kept = await passwords.of(row)
        if (!lacksPassword(row) || checked.faulty.has(row.index)) {
          written.push(result)
          continue
        }
        const password = kept ?? (isToBeCreated(row, journal) ? makePassword() : undefined)
        if (password === undefined) lost++
        written.push(password === undefined ? result : { ...result, password })
      }
      await writer.write(written)
    }
    await passwords.end()
    await writer.finish()
  } catch (error) {
    await writer.discard()
    throw error
  } finally {
    await passwords.close()
  }
  return lost
}

function isToBeCreated({ index }: InputRow, journal: Journal): boolean {
  const state = journal.rows.of(index)
  if (!state) return true
  return state.step === 'create' && (state.phase === 'unsent' || state.phase === 'refused')
}

/**
 * Refuses to lose passwords that were made up: those of another import, which the file of results
 * would replace, and those of this one, where it is to go on without them.
 *
 * @throws Failure `usage`
 */
export async function guardPasswords(
  journal: Journal,
  { results, generates }: { results: string | undefined; generates: boolean },
): Promise<void> {
  const own = journal.fileOf('passwords')?.path
  const path = results === undefined ? undefined : resolve(results)
  if (own !== undefined && (path !== own || !generates)) {
    throw new Failure(
      'usage',
      `The generated passwords of this import are in ${own}; it can be resumed only with that file`,
      {
        advice: [{ code: 'resume_with_passwords', path: own }],
      },
    )
  }
  const found = path === undefined ? undefined : statSync(path, { throwIfNoEntry: false })
  if (generates && found && !found.isFile()) {
    throw new Failure('usage', `Cannot write the generated passwords to ${results}: not a regular file`)
  }
  if (path !== undefined && own === undefined && (await holdsPasswords(path))) {
    throw new Failure(
      'usage',
      `Cannot overwrite ${path}: it contains the generated passwords of another import`,
      {
        advice: [{ code: 'move_results_file' }],
      },
    )
  }
}

/** Gives each row that lacks one its password from the file of results, as the rows come. */
export async function* withPasswords(
  batches: AsyncIterable<readonly InputRow[]>,
  passwords: PasswordsInOrder,
): AsyncIterable<readonly InputRow[]> {
  try {
    for await (const batch of batches) {
      for (const input of batch) {
        const password = await passwords.of(input)
        if (password !== undefined && input.row && lacksPassword(input)) input.row.password = password
      }
      yield batch
    }
  } finally {
    await passwords.close()
  }
}
