import * as Args from '@oclif/core/args'
import type { RequestedId } from '../../bulk/send/get-users.ts'
import { BaseCommand } from '../../cli/base-command.ts'
import { concurrencyFlag, defaultConcurrency } from '../../cli/bulk-flags.ts'
import type { Context } from '../../cli/context.ts'
import { calls } from '../../cli/documented-requests.ts'
import { readWords } from '../../cli/input/read-words.ts'
import { showEach } from '../../cli/output/show-each.ts'
import { showDocumentedOrAll } from '../../cli/output/show-undocumented.ts'
import { stateFlag, stateOf } from '../../cli/state-options.ts'
import { throttledClient } from '../../cli/throttled-client.ts'
import { Failure } from '../../contract/failure.ts'
import { userView } from '../../view/users.ts'

export default class UsersGet extends BaseCommand {
  static override summary = 'Show one or more users'
  static override description =
    'One ID prints an object, several print an array in the order of the IDs. A user that cannot be read is reported on stderr, and the others are shown.'
  static override requests = calls('getUser')
  static override view = userView
  static override examples = [
    { description: 'Show one user', command: 'chatctl users get ID' },
    {
      description: 'Show two fields of several users',
      command: 'chatctl users get ID ID --json --fields id,email',
    },
    {
      description: 'Show a user of a state file by email address',
      command: 'chatctl users get --state users.state.json grace@example.com',
    },
    { description: 'Read the IDs from a file', command: 'cut -f1 users.tsv | chatctl users get - -o jsonl' },
  ]
  static override args = {
    id: Args.string({
      description: 'IDs of users (with --state: email addresses), or - to read them from stdin',
      required: true,
      multiple: true,
      ignoreStdin: true,
    }),
  }
  static override flags = {
    state: stateFlag('Take email addresses instead of IDs, and find the IDs in this state file'),
    concurrency: concurrencyFlag(),
  }

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(UsersGet)
    const fromStdin = args.id.filter((id) => id === '-').length
    if (fromStdin > 1) throw new Failure('usage', 'stdin can be read only once, but - was given twice')
    const lookup = flags.state === undefined ? undefined : await openLookup(flags.state, context)
    try {
      const ids = lookup ? args.id.map((email) => (email === '-' ? email : lookup.idOf(email))) : args.id
      const [first] = ids
      if (ids.length > 1 || first === undefined || first === '-') {
        return await showUsers(ids, { context, concurrency: flags.concurrency, idOf: lookup?.idOf })
      }
      const client = await context.connect()
      await showDocumentedOrAll(userView, await client.users.get(first), context)
    } finally {
      await lookup?.close()
    }
  }
}

interface Lookup {
  idOf(email: string): string
  close(): Promise<void>
}

/** Finds IDs by email in a state file. */
async function openLookup(name: string, context: Context): Promise<Lookup> {
  const [{ UsersState }, { idOfEmail }] = await Promise.all([
    import('../../reconcile/state/users-state.ts'),
    import('../../reconcile/id-of-email.ts'),
  ])
  const state = await UsersState.open(...stateOf(context, name, 'read'))
  return { idOf: (email) => idOfEmail(email, state, name), close: () => state.close() }
}

/** @param options.idOf finds the ID for a word of stdin (default: it is the ID) */
async function showUsers(
  ids: readonly string[],
  {
    context,
    concurrency = defaultConcurrency,
    idOf,
  }: { context: Context; concurrency: number | undefined; idOf: Lookup['idOf'] | undefined },
): Promise<void> {
  const [{ Throttle }, { checkId, getUsers }, { estimateDuration }] = await Promise.all([
    import('../../bulk/send/throttle.ts'),
    import('../../bulk/send/get-users.ts'),
    import('../../bulk/send/estimate.ts'),
  ])
  for (const id of ids) if (id !== '-') checkId({ id })
  const total = ids.includes('-') ? undefined : ids.length
  const { throttle, progress, connect } = throttledClient(context, { Throttle, estimateDuration }, total)
  try {
    const users = getUsers(readIds(ids, context, idOf), { client: await connect(), throttle, concurrency })
    await showEach(userView, users, { output: context.output, progress })
  } finally {
    progress.end()
  }
}

/** The given IDs. For `-`, the IDs from stdin, as they arrive. */
async function* readIds(
  given: readonly string[],
  context: Context,
  idOf: Lookup['idOf'] = (id) => id,
): AsyncIterable<RequestedId> {
  for (const id of given) {
    if (id !== '-') yield { id }
    else {
      for await (const { text, line } of readWords('user ids', context)) {
        yield { id: idOf(text), place: `line ${line} of stdin` }
      }
    }
  }
}
