import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../cli/base-command.ts'
import type { Context } from '../../cli/context/context.ts'
import { calls } from '../../cli/documented-requests.ts'
import { textFlag } from '../../cli/flags/flag-types.ts'
import { dryRunFlag, metadataFlag } from '../../cli/flags/shared-flags.ts'
import { parseKeyValues } from '../../cli/input/key-values.ts'
import { PasswordFile } from '../../cli/input/private-files.ts'
import { generatePassword, readPassword } from '../../cli/input/read-password.ts'
import { showChanged } from '../../cli/output/show-response.ts'
import { type ApiResponse, idOfCreated } from '../../client/response/response.ts'
import { Failure } from '../../contract/failure.ts'
import type { CreateUserRequest } from '../../contract/resources/user.ts'
import { ownerOf } from '../../users/apply/user-outcome.ts'
import { newUserView, userView } from '../../view/users.ts'
import { demandNoUser, hintForExisting } from './existing-user.ts'

export default class UsersCreate extends BaseCommand {
  static override summary = 'Create a user'
  static override description =
    'In a terminal, chatctl prompts for the email address if --email is missing. If no password flag is given, it prompts for the password twice. The service decides whether it requires an email address and a password; the embedded service requires both. Until a generated password is printed, chatctl keeps it in a file that only you can read. If the outcome of the request is unknown, chatctl keeps that file and prints its path. If this machine has created a user with the email before, chatctl reads that user. If the user exists, the exit code is 7, as for an email that the service refuses.'
  static override requests = {
    ...calls('createUser'),
    note: 'and GET /v1/users/{id} for each user that this machine has created with the email.',
  }
  static override view = newUserView
  static override nonInteractive = [['password-stdin', 'password-file', 'generate-password', 'no-password']]
  static override examples = BaseCommand.toExamples({
    'Create a user with a generated password':
      'chatctl users create --email ada@example.com --name "Ada" --generate-password',
    'Read the password from a file':
      'chatctl users create --email ada@example.com --password-file password.txt',
    'Add metadata':
      'chatctl users create --email ada@example.com --metadata company=Acme --metadata seats:=5 --password-stdin < password.txt',
  })
  static override flags = {
    email: textFlag({ helpValue: 'ADDRESS', summary: 'Email address' }),
    name: textFlag({ helpValue: 'TEXT', summary: 'Full name' }),
    metadata: metadataFlag,
    'password-stdin': Flags.boolean({
      summary: 'Read the password from stdin',
      exclusive: ['password-file', 'generate-password', 'no-password'],
    }),
    'password-file': textFlag({
      helpValue: 'FILE',
      summary: 'Read the password from a file',
      exclusive: ['generate-password', 'no-password'],
    }),
    'generate-password': Flags.boolean({
      summary: 'Generate a password and print it once',
      exclusive: ['no-password'],
    }),
    'no-password': Flags.boolean({ summary: 'Send no password' }),
    'allow-duplicates': Flags.boolean({
      summary: 'Create the user again if this machine has created a user with the email before',
    }),
    'dry-run': dryRunFlag,
  }

  async run(): Promise<void> {
    const { flags, context } = await this.start(UsersCreate)
    context.approval.demand('users')
    const metadata = flags.metadata === undefined ? undefined : parseKeyValues(flags.metadata, '--metadata')
    // Before the password prompt, so that a missing credential fails first.
    const client = await context.connect()
    const email = flags.email ?? (await askEmail(context))
    const typed = email === undefined ? undefined : { email, name: flags.name, metadata: flags.metadata }
    if (typed && !flags['allow-duplicates']) await demandNoUser(context, typed)
    const generated = flags['generate-password'] ? generatePassword() : undefined
    const source = {
      stdin: flags['password-stdin'],
      file: flags['password-file'],
      instead: email === undefined ? `${instead}, and --email ADDRESS if the service requires one` : instead,
      ifEmpty: 'To create a user without a password, use --no-password.',
    }
    const password = generated ?? (flags['no-password'] ? undefined : await readPassword(source, context))
    const shown = { email, name: flags.name, metadata }
    const user = { ...shown, password }
    const create = () =>
      this.change(client.users.create(user).catch((error) => advise(error, password, context, typed)))
    if (generated === undefined || context.dryRun) return this.#show(await create(), shown, context)
    context.demandNamedService()
    const file = new PasswordFile(context, generated, {
      email,
      service: context.contextOwner().baseUrl,
    })
    let response: ApiResponse<unknown>
    try {
      response = await create()
    } catch (error) {
      throw file.settle(error, context)
    }
    try {
      await this.#show(response, shown, context, generated)
    } catch (error) {
      throw file.nameIn(error)
    }
    file.remove()
  }

  async #show(
    response: ApiResponse<unknown>,
    sent: CreateUserRequest,
    context: Context,
    generated?: string,
  ): Promise<void> {
    const id = idOfCreated(response)
    const secret = generated === undefined ? undefined : { name: 'generated_password', value: generated }
    const isOnlyAccepted = response.status === 202
    const done = `${isOnlyAccepted ? 'Sent' : 'Created'} ${id === undefined ? 'a user' : `user ${id}`}`
    const changed = { done, resource: 'the user', id, sent, secret }
    await showChanged(secret ? newUserView : userView, response, changed, context)
    if (isOnlyAccepted)
      await context.output.warn(
        'The service has only accepted the request (202). Check later if the user exists',
      )
    if (id !== undefined) return
    await context.output.warn(
      'The ID of the new user is unknown, because the response has none in "id" or in the Location header',
    )
  }
}

const instead = '--password-stdin, --password-file, --generate-password, or --no-password'

/** A service that requires a password may not say so in words. */
function advise(
  error: unknown,
  password: string | undefined,
  context: Context,
  typed: Parameters<typeof hintForExisting>[1] | undefined,
): never {
  if (!(error instanceof Failure)) throw error
  if (error.status === 409 && typed) {
    throw error.reworded(error.message, { hint: hintForExisting(context, typed, ownerOf(error)) })
  }
  if (password !== undefined || (error.status !== 400 && error.status !== 422)) throw error
  const hint =
    'If the service requires a password, use --generate-password, --password-stdin, or --password-file.'
  throw error.reworded(error.message, { hint })
}

/** Optional, because not every service requires an email address. */
const askEmail = async ({ prompter }: Context): Promise<string | undefined> =>
  prompter.canAsk ? prompter.askOptional('Email address (if the service requires one):') : undefined
