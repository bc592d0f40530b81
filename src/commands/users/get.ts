import * as Args from '@oclif/core/args'
import { BaseCommand } from '../../cli/base-command.ts'
import { readStdin } from '../../cli/input/read-input.ts'
import { Failure } from '../../failure.ts'
import { userView } from '../../view/users.ts'

export default class UsersGet extends BaseCommand {
  static override summary = 'Show one user or several.'
  static override description =
    'One id prints its body, several an array. With - the ids come from stdin, separated by white space.'
  static override examples = [
    '<%= config.bin %> users get ID',
    '<%= config.bin %> users get ID ID --json --fields id,email',
    '$ cut -f1 users.tsv | <%= config.bin %> users get -',
  ]
  static override usage = 'users get ID...'
  static override args = {
    id: Args.string({
      description: 'Ids of users; - reads stdin.',
      required: true,
      multiple: true,
      ignoreStdin: true,
    }),
  }

  async run(): Promise<void> {
    const { args, context } = await this.start(UsersGet, userView)
    const fromStdin = args.id.includes('-')
    const piped = fromStdin ? await readStdin('user ids', context.output, context.signal) : ''
    const ids = args.id.flatMap((id) => (id === '-' ? piped.split(/\s+/).filter(Boolean) : [id]))
    if (ids.length === 0) throw new Failure('usage', 'No id was given', { hint: 'chatctl users get --help' })
    const client = await context.connect()
    const [first] = ids
    if (ids.length === 1 && first !== undefined && !fromStdin) {
      return context.show(userView, await client.users.get(first))
    }
    const bodies: unknown[] = []
    const faults = new Map<string, { path: string; message: string }>()
    for (const id of ids) {
      const answer = await client.users.get(id)
      bodies.push(answer.body)
      for (const fault of answer.faults) faults.set(`${fault.path} ${fault.message}`, fault)
    }
    await context.show(userView, { status: 200, headers: {}, faults: [...faults.values()], body: bodies })
  }
}
