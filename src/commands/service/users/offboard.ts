import { existsSync } from 'node:fs'
import * as Flags from '@oclif/core/flags'
import { textFlag } from '../../../cli/flags/flag-types.ts'
import { Failure } from '../../../contract/failure.ts'
import { DocumentFile, replaceDocument } from '../../../system/files/document-file.ts'
import { describeUser, offboardView } from '../../../view/service.ts'
import { confirmedFlags, ServiceCommand, userArgument } from '../service-command.ts'
import { keepAuditFlag } from '../service-flags.ts'

export default class ServiceUsersOffboard extends ServiceCommand {
  static override summary = 'Disable, export, and delete a user'
  static override description =
    'Disables the user, proves that their credentials are refused, exports everything that is known of them, and deletes them. The proof uses the stored digests of the old credentials, and a new API key at each service process on this machine. If a step fails, the next ones are not done, and the command can be repeated.'
  static override view = offboardView
  static override examples = ServiceCommand.toExamples({
    'Offboard a user': 'chatctl service users offboard henry@example.com --export henry.json',
    'Show what would be done':
      'chatctl service users offboard grace@example.com --export grace-kept.json --dry-run',
  })
  static override args = userArgument
  static override flags = {
    export: textFlag({ helpValue: 'FILE', required: true, summary: 'File to write' }),
    force: Flags.boolean({ summary: 'Replace an existing file' }),
    'keep-audit': keepAuditFlag,
    ...confirmedFlags,
  }

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(ServiceUsersOffboard)
    if (flags.export === '-') throw new Failure('usage', '--export needs a file, because the user is deleted')
    const file = context.resolvePath(flags.export)
    // The file may be the only copy of what is known of another user.
    if (!flags.force && existsSync(file))
      throw new Failure('conflict', `${flags.export} already exists`, { advice: [{ code: 'replace_file' }] })
    // Fails for a file that is not writable, before anything changes.
    new DocumentFile(file)
    const administration = await context.administration.openToChange(flags)
    const user = await administration.describeUser(args.user, true)
    if (context.dryRun) return this.showLocalChange({ disable: user, export: flags.export, delete: user.id })
    const question = `Disable, export to ${flags.export}, and delete permanently: ${describeUser(user)}?`
    if (!flags.yes) await context.prompter.confirm(question)
    const save = async (document: object) => {
      await replaceDocument(file, `${JSON.stringify(document, null, 2)}\n`)
      return file
    }
    const done: object[] = []
    try {
      const keepsAudit = flags['keep-audit']
      for await (const step of administration.offboardUser(user.id, { keepsAudit, save })) done.push(step)
    } finally {
      if (done.length > 0) await context.output.show(offboardView, done)
    }
  }
}
