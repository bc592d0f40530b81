import * as Flags from '@oclif/core/flags'
import type { ActivityEntry } from '../../../activity/read-activity.ts'
import { BaseCommand } from '../../../cli/base-command.ts'
import { commandFor } from '../../../cli/command-line.ts'
import type { Context } from '../../../cli/context/context.ts'
import { localWork } from '../../../cli/documented-requests.ts'
import { Failure } from '../../../contract/failure.ts'
import { apiConfigurationView } from '../../../view/settings.ts'
import { planServiceOf } from '../settings-change.ts'

export default class SettingsApiGet extends BaseCommand {
  static override summary = 'Show the API configuration that chatctl last sent'
  static override description =
    'The interface of the service cannot read the API configuration, so --last-sent is required. It shows what chatctl last sent to this service for your user on this machine. The service may have another configuration, if it was changed elsewhere. Exits with code 6 if nothing was sent, or if the outcome of the last request is unknown.'
  static override requests = localWork
  static override view = apiConfigurationView
  static override examples = BaseCommand.toExamples({
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
    const { configuration, at, command } = await lastSent(context)
    await context.output.show(apiConfigurationView, configuration)
    const by = command === undefined ? '' : ` by "chatctl ${command}"`
    context.output.notice(
      `Last sent from this machine at ${at}${by}. The service cannot be asked for its API configuration.`,
    )
  }
}

interface LastSent {
  configuration: unknown
  /** ISO 8601 UTC. */
  at: string
  command: string | undefined
}

/**
 * The record of the last successful request, unless the activity has a later one: `chatctl api` writes no record.
 *
 * @throws Failure `not_found` if it is not known what was last sent
 */
async function lastSent(context: Context): Promise<LastSent> {
  const { readSent } = await import('../../../settings/apply/sent-configuration.ts')
  const service = planServiceOf(context)
  const recorded = readSent(context.directories, service)
  const last = await findLastRequest(service, context)
  if (recorded && !(last && last.at > recorded.sentAt)) {
    return { configuration: recorded.configuration, at: recorded.sentAt, command: last?.command }
  }
  if (!last) {
    throw new Failure('not_found', `No API configuration was sent to this service from this machine`, {
      hint: `Send one with: ${commandFor(context, 'settings', 'api', 'set', '--file', 'FILE')}`,
    })
  }
  if (last.outcome === 'done' && last.values !== undefined) {
    return { configuration: last.values, at: last.at, command: last.command }
  }
  const why = last.outcome === 'done' ? 'its content was not recorded' : 'its outcome is unknown'
  throw new Failure(
    'not_found',
    `The API configuration that was last sent is not known: "chatctl ${last.command}" sent one at ${last.at}, and ${why}`,
    { hint: 'To have a known API configuration, send it again.' },
  )
}

/** The newest request that may have changed the API configuration. */
async function findLastRequest(service: string, context: Context): Promise<ActivityEntry | undefined> {
  const { isApiConfiguration, readActivity } = await import('../../../activity/read-activity.ts')
  for (const entry of readActivity(context.directories.state, () => {})) {
    if (entry.service === service && entry.outcome !== 'refused' && isApiConfiguration(entry)) return entry
  }
  return undefined
}
