import { commandFor } from '../../cli/command-line.ts'
import type { Context } from '../../cli/context/context.ts'
import { afterColon, Failure } from '../../contract/failure.ts'
import { visibleJson } from '../../terminal/strip-controls.ts'
import { otherUser, readUser } from '../../users/compare-user.ts'

/** A user to create, as it was typed. */
interface GivenUser {
  email: string
  name: string | undefined
  metadata: readonly string[] | undefined
}

const another = 'To create another user with this email, use --allow-duplicates.'

/**
 * Reads the users that were created with the email from this machine.
 * @throws Failure `conflict` that names those who exist; as the client if one cannot be read
 */
export async function demandNoUser(context: Context, given: GivenUser): Promise<void> {
  const { email } = given
  const [{ Ledger }, { outcomesIn }] = await Promise.all([
    import('../../ledger/ledger.ts'),
    import('../../ledger/live-runs.ts'),
  ])
  const ledger = Ledger.of(context.directories, context.service)
  const known = unlessUnreadable(() => {
    context.refuseClaimed(ledger.end)
    return ledger.user(email)
  })
  if (known === undefined || known.creation === undefined) return
  if (known.creation !== 'done') {
    const outcomes = ledger.changesOfUser(email).map(outcomesIn(ledger))
    const words = outcomes.includes('in_progress') ? 'it is in progress' : 'its outcome is unknown'
    return context.warn(`An earlier request may have created ${email}: ${words}`)
  }
  const existing: string[] = []
  const gone: string[] = []
  for (const id of known.ids) {
    const why = await whyNot(id, email, context)
    if (why === undefined) existing.push(id)
    else {
      gone.push(id)
      context.say(`The user ${visibleJson(id)} was created with this email before, and ${why}.`)
    }
  }
  const isNameless = known.ids.length === 0
  context.sentChanges.replacedUsers = gone
  if (existing.length === 0 && !isNameless) return
  const shown = existing.map(visibleJson)
  const ids = existing.length > 1 ? `the IDs ${shown.join(' and ')}` : `the ID ${shown[0]}`
  const which = isNameless ? 'its ID is not known' : `exists with ${ids}`
  throw new Failure('conflict', `${email} was created from this machine before, and ${which}`, {
    hint: `${hintForExisting(context, given, shown.length === 1 ? existing[0] : undefined)}. ${another}`,
  })
}

export const userArgument = 'ID of the user, or an email address that the ledger knows'

/** The ID of the user that an argument names. Warns of changes of the user that may still take effect. */
export async function findUser(context: Context, word: string): Promise<string> {
  const { UserIds } = await import('../../users/user-ids.ts')
  const users = new UserIds(context)
  const id = users.idOf(word, true)
  for (const text of unlessUnreadable(() => users.openChanges([id])) ?? []) await context.warn(text)
  return id
}

/** An unreadable ledger does not prevent a change: the change is sent with a warning that it is not in the ledger. */
export function unlessUnreadable<T>(ask: () => T): T | undefined {
  try {
    return ask()
  } catch (error) {
    if (error instanceof Failure && error.kind === 'storage') return undefined
    throw error
  }
}

/** @returns undefined for a user who exists and may have the email */
async function whyNot(id: string, email: string, context: Context): Promise<string | undefined> {
  const { users } = await context.connect()
  try {
    const isOther = otherUser(email, id, await readUser(users, id)) !== undefined
    return isOther ? 'has another email now' : undefined
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    if (error.status === 404) return 'no longer exists'
    const words = `Cannot check whether the user ${visibleJson(id)} still exists with this email: ${afterColon(error.message)}`
    throw error.reworded(words, error.status === 401 ? error : { hint: another })
  }
}

/** @param id of the user who has the email, if it is known */
export function hintForExisting(context: Context, { name, metadata = [] }: GivenUser, id = 'ID'): string {
  const changes = metadata.flatMap((pair) => ['--metadata', pair])
  if (name !== undefined) changes.unshift('--name', name)
  const [verb, word] = changes.length === 0 ? ['show', 'get'] : ['change', 'update']
  return `To ${verb} the user who has this email, run: ${commandFor(context, 'users', word, id, ...changes)}`
}
