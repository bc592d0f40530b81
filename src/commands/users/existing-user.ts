import { commandFor } from '../../cli/command-line.ts'
import type { Context } from '../../cli/context/context.ts'
import { afterColon, Failure } from '../../contract/failure.ts'
import { unlessUnreadable } from '../../contract/or-else.ts'
import type { User } from '../../contract/resources/user.ts'
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
  const [{ Ledger }, { userWith }] = await Promise.all([
    import('../../ledger/ledger.ts'),
    import('../../users/sent-users.ts'),
  ])
  const ledger = Ledger.of(context.directories, context.service)
  const known = unlessUnreadable(() => {
    context.refuseClaimed(ledger.end)
    return userWith(ledger, email)
  })
  if (known === undefined || known.creation === undefined) return
  if (known.creation !== 'done') {
    if (known.open.some((one) => ledger.outcomeOf(one) === 'in_progress'))
      throw new Failure('conflict', `Another command on this machine has begun to create ${email}`, {
        code: 'claimed',
        hint: `When it has ended, run this command again. ${another}`,
      })
    return context.warn(`An earlier request may have created ${email}: its outcome is unknown`)
  }
  const existing: string[] = []
  const gone: string[] = []
  for (const id of known.ids) {
    const found = await readHolder(id, email, context, another)
    if (!(found instanceof Failure)) existing.push(id)
    else {
      gone.push(id)
      const why = found.status === 404 ? 'no longer exists' : 'has another email now'
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

export const userToChangeArgument =
  'ID of the user (also as id:ID), or an email address that the ledger knows'
export const findUserNote = 'and for an email address, first GET /v1/users/{id}.'

/** The ID of the user to change, who must still have an email. Warns of changes that may still take effect. */
export async function userToChange(context: Context, word: string): Promise<string> {
  const { idPrefix, UserIds } = await import('../../users/user-ids.ts')
  const users = new UserIds(context)
  const id = users.idOf(word, true)
  if (id !== word && !word.startsWith(idPrefix) && !context.dryRun) {
    const user = await readHolder(id, word, context, 'To change this user nevertheless, name the ID.')
    if (user instanceof Failure) throw user
    if (typeof user.email === 'string') await context.saw(word, id)
    else await context.warn(`The response has no email for user ${id}, so ${word} is not checked`)
  }
  for (const text of unlessUnreadable(() => users.openChanges([id])) ?? []) await context.warn(text)
  return id
}

/** @returns the user, or why it is not the one with the email. @throws Failure as the client, with the hint */
async function readHolder(
  id: string,
  email: string,
  context: Context,
  hint: string,
): Promise<User | Failure> {
  const { users } = await context.connect()
  const shown = visibleJson(id)
  try {
    const user = await readUser(users, id)
    const other = otherUser(email, id, user)
    return other ? other.reworded(other.message, { hint }) : user
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    if (error.status === 404)
      return error.reworded(`The user ${shown}, whose email was ${email}, no longer exists`)
    const words = `Cannot check whether the user ${shown} still exists with this email: ${afterColon(error.message)}`
    throw error.reworded(words, error.status === 401 ? error : { hint })
  }
}

/** @param id of the user who has the email, if it is known */
export function hintForExisting(context: Context, { name, metadata = [] }: GivenUser, id = 'ID'): string {
  const changes = metadata.flatMap((pair) => ['--metadata', pair])
  if (name !== undefined) changes.unshift('--name', name)
  const [verb, word] = changes.length === 0 ? ['show', 'get'] : ['change', 'update']
  return `To ${verb} the user who has this email, run: ${commandFor(context, 'users', word, id, ...changes)}`
}
