import { BaseCommand } from '../../cli/base-command.ts'
import type { Context } from '../../cli/context/context.ts'
import { calls } from '../../cli/documented-requests.ts'
import { requiredArguments } from '../../cli/flags/flag-types.ts'
import { dryRunFlag } from '../../cli/flags/shared-flags.ts'
import { withStdin } from '../../cli/input/read-input.ts'
import { type ShownResult, showEach } from '../../cli/output/show-each.ts'
import { Failure } from '../../contract/failure.ts'
import type { AdoptionResult, KnownUser } from '../../users/change-state.ts'
import type { UserIds } from '../../users/user-ids.ts'
import { adoptedUsersView } from '../../view/users.ts'
import { concurrencyFlag, defaultConcurrency } from './bulk-flags.ts'
import { stateFlag, stateOf } from './user-files-flags.ts'

const example = 'chatctl users adopt grace@example.com=ID'

const words = { cannot: 'Cannot adopt', done: 'adopted', none: 'No user given', example }

export default class UsersAdopt extends BaseCommand {
  static override summary = 'Add existing users to a state file'
  static override description =
    'Reads each user, and adds it to the state file unless the service reports another email or ID. A user that cannot be adopted is reported on stderr, and the others are adopted. The status is adopted, unchanged, replaced (the email had another ID), or moved (the ID had another email).'
  static override requests = calls('getUser')
  static override view = adoptedUsersView
  static override examples = BaseCommand.toExamples({
    'Adopt a user': example,
    'Adopt the users of a file, one EMAIL=ID per line':
      'chatctl users adopt - --state team.state.json < known-users.txt',
  })
  static override args = {
    user: requiredArguments(
      'EMAIL=ID of users (EMAIL if the ledger knows the ID), or - to read them from stdin',
    ),
  }
  static override flags = {
    state: stateFlag('State file (default: users.state.json)'),
    concurrency: concurrencyFlag(),
    'dry-run': dryRunFlag,
  }

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(UsersAdopt)
    const { UserIds } = await import('../../users/user-ids.ts')
    const known = new UserIds(context)
    const read = (word: string, place?: string) => readPair(word, place, known)
    const users = args.user.map((word) => (word === '-' ? word : read(word)))
    const [{ checkId }, { defaultStateName }, { withState }, { adoptUsers }, { BulkRun }] = await Promise.all(
      [
        import('../../users/send/get-users.ts'),
        import('../../users/state/users-state.ts'),
        import('../../users/known-users.ts'),
        import('../../users/change-state.ts'),
        import('../../bulk/send/bulk-run.ts'),
      ],
    )
    for (const user of users) if (user !== '-') checkId(user)
    const name = flags.state ?? defaultStateName
    const total = users.includes('-') ? undefined : users.length
    const bulk = new BulkRun(context, { noun: 'user' })
    const { output, dryRun: isDryRun } = context
    await withState(context, stateOf(context, name, isDryRun ? 'read' : 'write'), async (state) => {
      const progress = bulk.begin({ rows: total })
      try {
        const results = adoptUsers(withStdin(users, 'users', context, read), state, {
          client: await bulk.connect(),
          throttle: bulk.throttle,
          concurrency: flags.concurrency ?? defaultConcurrency,
          isDryRun,
        })
        await showEach(adoptedUsersView, shown(results, name, context), { output, progress, words })
      } finally {
        progress.end()
      }
    })
    if (context.dryRun) context.output.notice(`Dry run: ${name} was not changed.`)
  }
}

/** @param place of the word, for errors */
function readPair(word: string, place: string | undefined, known: UserIds): KnownUser {
  const [, email = '', given] = /^([^\s@]+@[^\s@=]+)(?:=(.+))?$/.exec(word) ?? []
  try {
    if (email !== '') return { email, id: given ?? known.idOfEmail(email), place }
    throw new Failure(place === undefined ? 'usage' : 'refused', `"${word}" is not EMAIL=ID`)
  } catch (error) {
    if (!(error instanceof Failure) || error.kind === 'storage') throw error
    const where = place === undefined ? '' : `${place}: `
    const hint = `For example: ${email === '' ? example : `chatctl users adopt ${email}=ID`}`
    throw error.reworded(where + error.message, { hint: error.hint ? `${error.hint} ${hint}` : hint })
  }
}

/** The results as rows. Says which entries were changed, and what could not be checked. */
async function* shown(
  results: AsyncIterable<AdoptionResult>,
  name: string,
  { output }: Context,
): AsyncIterable<ShownResult> {
  for await (const result of results) {
    const { email: id } = result.user
    if ('failure' in result) yield { id, failure: result.failure }
    else {
      const { isChecked, ...row } = result.adoption
      const { email, status, previous } = row
      if (status === 'moved')
        output.notice(`${name} had user ${row.id} with the email ${previous}; it is now ${email}`)
      if (status === 'replaced')
        output.notice(`${name} had ${email} with the id ${previous}; it is now ${row.id}`)
      if (!isChecked)
        await output.warn(`The response has no email for user ${row.id}, so ${email} is not checked`)
      yield { id, response: { ...result.response, body: row } }
    }
  }
}
