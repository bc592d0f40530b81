import { warnOfUnreadable } from '../../cli/activity-notes.ts'
import { BaseCommand } from '../../cli/base-command.ts'
import type { Context } from '../../cli/context.ts'
import { localWork } from '../../cli/documented-requests.ts'
import { showRows } from '../../cli/output/show-rows.ts'
import { planServiceOf } from '../../cli/settings-change.ts'
import { knownUsersView } from '../../view/activity.ts'

interface KnownUser {
  email: string | null
  id: string | null
  /** When chatctl sent the request that created the user. */
  created_at: string | null
  source: 'activity' | 'state'
  outcome: 'done' | 'unknown'
}

export default class UsersList extends BaseCommand {
  static override summary = 'List the users that chatctl created from this machine'
  static override description =
    'The API of the service cannot list users, so this is not a list of all users. It is the record of chatctl for your user on this machine: users that were created on the service of the profile, newest first. If the outcome of a creation is unknown, the user may not exist.'
  static override requests = localWork
  static override view = knownUsersView
  static override examples = [
    { description: 'List the users created from this machine', command: 'chatctl users list' },
    { description: 'Print them as CSV', command: 'chatctl users list -o csv' },
  ]

  async run(): Promise<void> {
    const { context } = await this.start(UsersList)
    const service = planServiceOf(context)
    await showRows(knownUsersView, createdUsers(service, context), context.output)
    context.output.notice(
      'The API of the service cannot list users. This is the record of chatctl on this machine: it has no users that were created elsewhere.',
    )
  }
}

/** Users whose creation has succeeded or may have succeeded, each once, newest first. */
async function* createdUsers(service: string, context: Context): AsyncGenerator<KnownUser> {
  const { isUserCreation, readActivity } = await import('../../activity/read-activity.ts')
  const seen = new Set<string>()
  let unreadable = 0
  for (const entry of readActivity(context.directories.state, () => unreadable++)) {
    const { at, email, user_id: id, outcome } = entry
    if (entry.service !== service || outcome === 'refused' || !isUserCreation(entry)) continue
    const key = email?.toLowerCase() ?? id
    // An earlier attempt to create the same user.
    if (key !== null && seen.has(key)) continue
    if (key !== null) seen.add(key)
    yield { email, id, created_at: at, source: 'activity', outcome }
  }
  await warnOfUnreadable(unreadable, context)
}
