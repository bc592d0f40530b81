import type { Run } from '../run/run.ts'
import { countOf, groupDigits } from '../view/format/quantities.ts'
import { type EarlierRuns, isAsCreated } from './read-states.ts'
import type { CheckedInput } from './rows/check-input.ts'

/** Warns of what an import does not send. */
export async function warnOfUnsent(
  run: Run,
  { valid }: CheckedInput,
  { known, own }: EarlierRuns,
): Promise<void> {
  const created = valid.filter(({ row, state }) => row.id === undefined && state?.outcome === 'done')
  const { length } = created.filter(({ state }) => !state?.isCreator)
  const which =
    length === 1
      ? '1 email in the file belongs to a user that was'
      : `${groupDigits(length)} emails in the file belong to users that were`
  if (length > 0)
    await run.warn(
      `${which} created from this machine before. Such rows create no user, and their names and metadata are not sent. To create the users again, use --allow-duplicates`,
    )
  const edited = created.filter(
    ({ row, state }) => state?.isCreator && state.id && !isAsCreated(row, known.sent().get(state.id)),
  )
  const [first] = edited
  if (first) {
    const { line, row, state } = first
    const rows = countOf(edited.length, 'row')
    const command = run.commandFor('users', 'update', state?.id ?? 'ID', '--help')
    await run.warn(
      `The name or the metadata of ${rows} is not what was last sent and confirmed (the first is line ${line}, ${row.email}). A row without an id creates a user, and does not change one. To change it, see: ${command}`,
    )
  }
  const emails = new Set(valid.map(({ row }) => row.email?.toLowerCase()))
  const unknown = [...known.createdIn(new Set(own?.openRuns))].filter(
    ([email, { creation }]) => creation === 'unknown' && !emails.has(email),
  )
  if (unknown.length === 0) return
  const shown = unknown.slice(0, 10).map(([email]) => email)
  await run.warn(
    `The outcome of the creation of ${countOf(unknown.length, 'user')} is unknown, and no row has the email: ${shown.join(', ')}${unknown.length > shown.length ? ', …' : ''}`,
  )
}
