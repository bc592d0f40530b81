import * as Args from '@oclif/core/args'
import type { RequestedId } from '../../bulk/send/get-users.ts'
import type { Throttle } from '../../bulk/send/throttle.ts'
import { BaseCommand } from '../../cli/base-command.ts'
import { concurrencyFlag, defaultConcurrency } from '../../cli/bulk-flags.ts'
import type { Context } from '../../cli/context.ts'
import { calls } from '../../cli/documented-requests.ts'
import { readWords } from '../../cli/input/read-words.ts'
import { BulkProgress } from '../../cli/output/bulk-progress.ts'
import { showEach } from '../../cli/output/show-each.ts'
import { showDocumentedOrAll } from '../../cli/output/show-undocumented.ts'
import type { ClientEvent } from '../../client/client-event.ts'
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
    { description: 'Read the IDs from a file', command: 'cut -f1 users.tsv | chatctl users get - -o jsonl' },
  ]
  static override args = {
    id: Args.string({
      description: 'IDs of users, or - to read them from stdin',
      required: true,
      multiple: true,
      ignoreStdin: true,
    }),
  }
  static override flags = {
    concurrency: concurrencyFlag(),
  }

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(UsersGet)
    const [first] = args.id
    if (args.id.length === 1 && first !== undefined && first !== '-') {
      const client = await context.connect()
      return showDocumentedOrAll(userView, await client.users.get(first), context)
    }
    const fromStdin = args.id.filter((id) => id === '-').length
    if (fromStdin > 1) throw new Failure('usage', 'stdin can be read only once, but - was given twice')
    const [{ Throttle }, { checkId, getUsers }, { estimateDuration }] = await Promise.all([
      import('../../bulk/send/throttle.ts'),
      import('../../bulk/send/get-users.ts'),
      import('../../bulk/send/estimate.ts'),
    ])
    for (const id of args.id) if (id !== '-') checkId({ id })

    const progress = new BulkProgress(context.output, {
      noun: 'user',
      total: fromStdin > 0 ? undefined : args.id.length,
      estimate: (requests, perSecond) => estimateDuration({ requests, perSecond, quota: throttle.known }),
    })
    const throttle: Throttle = new Throttle({
      clock: context.host.clock,
      maxWait: context.options.max_wait.value,
      signal: context.signal,
      onPause: (pause) => progress.pause(pause),
      onResume: () => progress.go(),
    })
    const observe = (event: ClientEvent): void => {
      throttle.observe(event)
      context.transport.observe?.(event)
    }
    try {
      const client = await context.connect({ maxWait: 0, observe })
      const { concurrency = defaultConcurrency } = flags
      const users = getUsers(readIds(args.id, context), { client, throttle, concurrency })
      await showEach(userView, users, { output: context.output, progress })
    } finally {
      progress.end()
    }
  }
}

/** The given IDs. For `-`, the IDs from stdin, as they arrive. */
async function* readIds(given: readonly string[], context: Context): AsyncIterable<RequestedId> {
  for (const id of given) {
    if (id !== '-') yield { id }
    else {
      for await (const { text, line } of readWords('user ids', context)) {
        yield { id: text, place: `line ${line} of stdin` }
      }
    }
  }
}
