import { BaseCommand } from '../../cli/base-command.ts'
import type { Context } from '../../cli/context/context.ts'
import { calls } from '../../cli/documented-requests.ts'
import { requiredArguments } from '../../cli/flags/flag-types.ts'
import { withStdin } from '../../cli/input/read-input.ts'
import { showEach } from '../../cli/output/show-each.ts'
import { showDocumentedOrAll } from '../../cli/output/show-response.ts'
import { Failure } from '../../contract/failure.ts'
import type { RequestedId } from '../../users/send/get-users.ts'
import { userView } from '../../view/users.ts'
import { concurrencyFlag, defaultConcurrency } from './bulk-flags.ts'
import { stateFlag, stateOf } from './user-files-flags.ts'

export default class UsersGet extends BaseCommand {
  static override summary = 'Show one or more users'
  static override description =
    'One ID prints an object, several print an array in the order of the IDs. A user that cannot be read is reported on stderr, and the others are shown.'
  static override requests = calls('getUser')
  static override view = { ...userView, json: { either: 'getUser' } as const }
  static override examples = BaseCommand.toExamples({
    'Show one user': 'chatctl users get ID',
    'Show two fields of several users': 'chatctl users get ID ID --json --fields id,email',
    'Show a user of a state file by email address':
      'chatctl users get --state users.state.json grace@example.com',
    'Read the IDs from a file': 'cut -f1 users.tsv | chatctl users get - -o jsonl',
  })
  static override args = {
    id: requiredArguments('IDs of users (with --state: email addresses), or - to read them from stdin'),
  }
  static override flags = {
    state: stateFlag('Take email addresses instead of IDs, and find the IDs in this state file'),
    concurrency: concurrencyFlag(),
  }

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(UsersGet)
    const lookup = flags.state === undefined ? undefined : await openLookup(flags.state, context)
    try {
      const [first] = args.id
      if (args.id.length > 1 || first === undefined || first === '-') {
        const request = (word: string, place?: string) => requestOf(word, place, lookup)
        return await showUsers(args.id, context, flags.concurrency, request)
      }
      const client = await context.connect()
      const id = lookup ? lookup.idOf(first, true) : first
      await showDocumentedOrAll(userView, await client.users.get(id), context)
    } finally {
      await lookup?.state.close()
    }
  }
}

type Lookup = Awaited<ReturnType<typeof openLookup>>

/** Finds IDs by email in a state file. */
async function openLookup(name: string, context: Context) {
  const [{ UsersState }, { idOfEmail }] = await Promise.all([
    import('../../users/state/users-state.ts'),
    import('../../users/change-state.ts'),
  ])
  const state = await UsersState.open(...stateOf(context, name, 'read'))
  return { state, idOf: (email: string, suggests: boolean) => idOfEmail(email, state, suggests) }
}

/** @param word an ID, or with a lookup an email */
function requestOf(word: string, place: string | undefined, lookup: Lookup | undefined): RequestedId {
  try {
    return { id: lookup ? lookup.idOf(word, false) : word, place }
  } catch (failure) {
    if (!(failure instanceof Failure && lookup?.state.exists)) throw failure
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
