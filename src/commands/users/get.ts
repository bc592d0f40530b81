import { BaseCommand } from '../../cli/base-command.ts'
import type { Context } from '../../cli/context/context.ts'
import { calls } from '../../cli/documented-requests.ts'
import { requiredArguments } from '../../cli/flags/flag-types.ts'
import { withStdin } from '../../cli/input/read-input.ts'
import { showEach } from '../../cli/output/show-each.ts'
import { showDocumentedOrAll } from '../../cli/output/show-response.ts'
import { Failure } from '../../contract/failure.ts'
import { unlessUnreadable } from '../../contract/or-else.ts'
import type { RequestedId } from '../../users/send/get-users.ts'
import type { UsersState } from '../../users/state/users-state.ts'
import type { UserIds } from '../../users/user-ids.ts'
import { userView } from '../../view/users.ts'
import { concurrencyFlag, defaultConcurrency } from './bulk-flags.ts'
import { stateFlag, stateOf } from './user-files-flags.ts'

export default class UsersGet extends BaseCommand {
  static override summary = 'Show one or more users'
  static override description =
    'One ID prints an object, several print an array in the order of the IDs. A user that cannot be read is reported on stderr, and the others are shown. Instead of an ID, you can give the email address of a user that users list shows. If a change of the user is in progress, or has an unknown outcome, a note says so.'
  static override requests = calls('getUser')
  static override view = { ...userView, json: { either: 'getUser' } as const }
  static override examples = BaseCommand.toExamples({
    'Show one user': 'chatctl users get ID',
    'Show two fields of several users': 'chatctl users get ID ID --json --fields id,email',
    'Show a user that was created from this machine': 'chatctl users get grace@example.com',
    'Show a user of a state file by email address':
      'chatctl users get --state users.state.json grace@example.com',
    'Read the IDs from a file': 'cut -f1 users.tsv | chatctl users get - -o jsonl',
  })
  static override args = {
    id: requiredArguments(
      'IDs of users (also as id:ID), known email addresses, or - to read them from stdin',
    ),
  }
  static override flags = {
    state: stateFlag('Find the IDs of email addresses in this state file, or else in the ledger'),
    concurrency: concurrencyFlag(),
  }

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(UsersGet)
    const [{ UserIds }, { UsersState }] = await Promise.all([
      import('../../users/user-ids.ts'),
      import('../../users/state/users-state.ts'),
    ])
    const { state: name } = flags
    const state = name === undefined ? undefined : await UsersState.open(...stateOf(context, name, 'read'))
    const users = new UserIds(context, state)
    const sayWhatIsOpen = (ids: readonly string[]) => {
      for (const text of unlessUnreadable(() => users.openChanges(ids)) ?? []) context.say(`${text}.`)
    }
    try {
      const [first] = args.id
      if (args.id.length > 1 || first === undefined || first === '-') {
        const ids: string[] = []
        await showUsers(args.id, context, flags.concurrency, (word, place) => {
          const requested = requestOf(word, place, users, state)
          ids.push(requested.id)
          return requested
        })
        return sayWhatIsOpen(ids)
      }
      const client = await context.connect()
      const id = users.idOf(first, true)
      await showDocumentedOrAll(userView, await client.users.get(id), context)
      sayWhatIsOpen([id])
    } finally {
      await state?.close()
    }
  }
}

/** @param word an ID or an email */
function requestOf(
  word: string,
  place: string | undefined,
  users: UserIds,
  state: UsersState | undefined,
): RequestedId {
  try {
    return { id: users.idOf(word, false), place }
  } catch (failure) {
    if (!(failure instanceof Failure && state?.exists !== false)) throw failure
    return { id: word, failure }
  }
}

/** @param request makes a request of a word, which is an ID or an email */
async function showUsers(
  words: readonly string[],
  context: Context,
  concurrency = defaultConcurrency,
  request: (word: string, place?: string) => RequestedId,
): Promise<void> {
  const { checkId, getUsers } = await import('../../users/send/get-users.ts')
  const { BulkRun } = await import('../../bulk/send/bulk-run.ts')
  const given = words.map((word) => (word === '-' ? word : request(word)))
  for (const each of given) if (each !== '-' && !each.failure) checkId(each)
  const total = words.includes('-') ? undefined : words.length
  const bulk = new BulkRun(context, { noun: 'user' })
  const progress = bulk.begin({ rows: total })
  try {
    const requests = withStdin(given, 'user ids', context, request)
    const users = getUsers(requests, { client: await bulk.connect(), throttle: bulk.throttle, concurrency })
    await showEach(userView, users, { output: context.output, progress })
  } finally {
    progress.end()
  }
}
