import * as Flags from '@oclif/core/flags'
import { commandFor } from '../../../cli/command-line.ts'
import { LocalCommand } from '../../../cli/local-command.ts'
import { Failure } from '../../../contract/failure.ts'
import type { LedgerEntry } from '../../../ledger/changes.ts'
import { apiConfigurationView } from '../../../view/settings.ts'

export default class SettingsApiGet extends LocalCommand {
  static override summary = 'Show the API configuration that chatctl last sent'
  static override description =
    'The interface of the service cannot read the API configuration, so --last-sent is required. It shows what chatctl last sent to this service for your user on this machine. The service may have another configuration, if it was changed elsewhere. Exits with code 6 if nothing was sent, or if the outcome of the last request is unknown.'
  static override view = apiConfigurationView
  static override examples = LocalCommand.toExamples({
    'Show what was last sent': 'chatctl settings api get --last-sent',
    'Save it as a file that can be sent again': 'chatctl settings api get --last-sent -o yaml > sent.yaml',
  })
  static override flags = {
    'last-sent': Flags.boolean({ summary: 'Show what was last sent from this machine (required)' }),
  }

  async run(): Promise<void> {
    const { flags, context } = await this.start(SettingsApiGet)
    if (!flags['last-sent']) {
      throw new Failure('usage', 'The interface of the service cannot read the API configuration', {
        hint: `Show what was last sent from this machine with: ${commandFor(context, 'settings', 'api', 'get', '--last-sent')}`,
      })
    }
    const { lastApiChange, readSent } = await import('../../../settings/settings-history.ts')
    const last = lastApiChange(context)
    if (!last) {
      throw new Failure('not_found', `No API configuration was sent to this service from this machine`, {
        hint: `Send one with: ${commandFor(context, 'settings', 'api', 'set', '--file', 'FILE')}`,
      })
    }
    const { api } = readSent(context)
    if (!api) throw notKnown(last)
    await context.output.show(apiConfigurationView, api.configuration)
    context.output.notice(
      `Last sent from this machine at ${last.at} by "chatctl ${last.command}". The service cannot be asked for its API configuration.`,
    )
  }
}

function notKnown({ command, at, outcome }: Pick<LedgerEntry, 'command' | 'at' | 'outcome'>): Failure {
  const why =
    outcome === 'contradicted'
      ? 'the response showed other values'
      : outcome === 'unknown'
        ? 'its outcome is unknown'
        : 'its content was not recorded'
  return new Failure(
    'not_found',
    `The API configuration that was last sent is not known: "chatctl ${command}" sent one at ${at}, and ${why}`,
    { hint: 'To have a known API configuration, send it again.' },
  )
}
