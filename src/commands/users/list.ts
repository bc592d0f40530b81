import { BaseCommand } from '../../cli/base-command.ts'
import type { Context } from '../../cli/context/context.ts'
import { localWork } from '../../cli/documented-requests.ts'
import { Failure } from '../../contract/failure.ts'
import type { ShownOutcome } from '../../ledger/ledger.ts'
import { knownUsersView } from '../../view/activity.ts'
import { stateFlag, stateOf } from './user-files-flags.ts'

interface KnownUser {
  email: string | null
  id: string | null
  /** When chatctl sent the request that created the user. A state file does not contain it. */
  created_at: string | null
  source: 'ledger' | 'state'
  /** `unverified`: the service has accepted the creation (status 202). */
  outcome: Exclude<ShownOutcome, 'refused' | 'contradicted'>
}

export default class UsersList extends BaseCommand {
  static override summary = 'List the users that chatctl created or has in a state file'
  static override description =
    'The interface of the service cannot list users, so this is not a list of all users. Without --state, it shows the users in the ledger of your user on this machine that were created on the service of the profile, newest first. If the outcome of a creation is unknown, the user may not exist. No request is sent.'
  static override requests = localWork
  static override view = knownUsersView
  static override examples = BaseCommand.toExamples({
    'List the users created from this machine': 'chatctl users list',
    'Print the users of a state file as CSV': 'chatctl users list --state users.state.json -o csv',
  })
  static override flags = { state: stateFlag('List the users of this state file, sorted by email address') }

  async run(): Promise<void> {
    const { flags, context } = await this.start(UsersList)
    const { state } = flags
    const users = state === undefined ? createdUsers(context) : stateUsers(state, context)
    const rows: KnownUser[] = []
    for await (const user of users) rows.push(user)
    await context.output.show(knownUsersView, rows)
    const what =
      state === undefined
        ? 'This is the ledger of this machine: it has no users that were created elsewhere.'
        : `These are the users in ${state}.`
    context.output.notice(`The interface of the service cannot list users. ${what}`)
  }
}

/** @throws Failure `refused` without a state file, or for an invalid one */
async function* stateUsers(name: string, context: Context): AsyncGenerator<KnownUser> {
  const { UsersState } = await import('../../users/state/users-state.ts')
  const state = await UsersState.open(...stateOf(context, name, 'read'))
  try {
    if (!state.exists) {
      throw new Failure('refused', `The state file ${name} does not exist`, {
        hint: 'To list users created from this machine, omit --state.',
      })
    }
    for (const { email, id = null, creation } of state.entries()) {
      const outcome = creation === 'unknown' ? 'unknown' : 'done'
      yield { email, id, created_at: null, source: 'state', outcome }
    }
  } finally {
    await state.close()
  }
}

/**
 * Users whose creation has succeeded or may have succeeded, newest first. Two users may have the same email. An
 * attempt whose outcome is unknown, or whose response had no id, is shown once, and not if the email was created.
 */
async function* createdUsers(context: Context): AsyncGenerator<KnownUser> {
  const [{ Ledger }, { creationsIn }] = await Promise.all([
    import('../../ledger/ledger.ts'),
    import('../../users/sent-users.ts'),
  ])
  const ledger = Ledger.of(context.directories, context.service)
  const [done, unsure, ids] = [new Set<string>(), new Set<string>(), new Set<string>()]
  for (const entry of creationsIn(ledger).reverse()) {
    const { at, email, user_id: id } = entry
    const found = ledger.outcomeOf(entry)
    if (found === 'refused' || (email === null && id === null)) continue
    const outcome = found === 'contradicted' ? 'done' : found
    const key = email?.toLowerCase() ?? id
    const seen = outcome === 'done' ? done : unsure
    const isOther = outcome === 'done' && id !== null && !ids.has(id)
    if (!isOther && key !== null && (done.has(key) || seen.has(key))) continue
    if (key !== null) seen.add(key)
    if (id !== null) ids.add(id)
    yield { email, id, created_at: at, source: 'ledger', outcome }
  }
}
