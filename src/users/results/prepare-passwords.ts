import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { Failure } from '../../contract/failure.ts'
import type { CheckedInput } from '../input/check-input.ts'
import type { Input } from '../input/input.ts'
import type { InputRow } from '../input/input-row.ts'
import { readRows } from '../input/read-rows.ts'
import type { Journal } from '../journal/journal.ts'
import { isUnresolved } from '../journal/row-states.ts'
import type { RowKind } from '../rows/imported-user.ts'
import type { UnknownRowResolutions } from '../unknown-row-resolutions.ts'
import { containsPasswords, lacksPassword, openPasswords, type PasswordReader } from './password-reader.ts'
import { ResultRows } from './result-rows.ts'
import { resultOf } from './row-result.ts'

interface PreparePasswordsOptions {
  input: Input
  kind: RowKind
  checked: CheckedInput
  journal: Journal
  resolutions: UnknownRowResolutions
  results: string
  makePassword(): string
}

/**
 * Generates a password for every new user without one, and writes the passwords to the results file, which is
 * on disk before the first request is sent.
 *
 * @returns the number of rows that were sent with a password that the file no longer contains
 */
export async function preparePasswords(preparing: PreparePasswordsOptions): Promise<number> {
  const { input, kind, checked, journal, results, makePassword } = preparing
  const passwords = openPasswords(journal, results)
  journal.noteFile({ type: 'passwords', path: resolve(results) })
  await journal.sync()
  let lost = 0
  const passwordOf = async (row: InputRow): Promise<string | undefined> => {
    const kept = await passwords.of(row)
    if (!lacksPassword(row) || checked.faulty.has(row.index)) return undefined
    const password = kept ?? (isToBeCreated(row, preparing) ? makePassword() : undefined)
    if (password === undefined && journal.rows.isCreator(row.index)) lost++
    return password
  }
  const end = () => passwords.end()
  const file = new ResultRows(results, { of: passwordOf, end, close: () => passwords.close() })
  try {
    for await (const batch of readRows(input, kind)) {
      for (const row of batch) await file.add(row, resultOf(row, checked.faulty, journal))
    }
    await file.finish()
  } catch (error) {
    await file.discard()
    throw error
  }
  if (file.failure) throw file.failure
  return lost
}

function isToBeCreated(row: InputRow, { journal, resolutions }: PreparePasswordsOptions): boolean {
  const state = journal.rows.of(row.index)
  if (!state) return true
  if (isUnresolved(state) && !journal.rows.isCreator(row.index)) {
    // The other request that may have created the user had another password.
    return resolutions.of(row)?.as === 'retry' && state.phase !== 'nameless'
  }
  return state.step === 'create' && (state.phase === 'unsent' || state.phase === 'refused')
}

/**
 * Prevents the loss of generated passwords: those of another import in the results file, and those of this
 * import if it is resumed without its results file.
 *
 * @throws Failure `usage`
 */
export async function assertPasswordsKept(
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
  if (path !== undefined && own === undefined && (await containsPasswords(path))) {
    throw new Failure(
      'usage',
      `Cannot overwrite ${path}: it contains the generated passwords of another import`,
      {
        advice: [{ code: 'move_results_file' }],
      },
    )
  }
}

/** Adds the generated passwords from the results file to the rows. */
export async function* withPasswords(
  batches: AsyncIterable<readonly InputRow[]>,
  passwords: PasswordReader,
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
