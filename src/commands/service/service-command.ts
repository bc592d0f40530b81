import type { Input } from '@oclif/core/interfaces'
import { BaseCommand } from '../../cli/base-command.ts'
import type { DatabaseFlags } from '../../cli/context/administration.ts'
import { serviceData } from '../../cli/documented-requests.ts'
import { requiredArgument, textFlag } from '../../cli/flags/flag-types.ts'
import { dryRunFlag, yesFlag } from '../../cli/flags/shared-flags.ts'

/** The data of the embedded service, for every `service` command. */
export const dataFlags = {
  data: textFlag({ helpValue: 'DIRECTORY', summary: 'Data directory (see chatctl service status)' }),
  database: textFlag({
    helpValue: 'URL',
    env: 'CHATCTL_DATABASE',
    summary: 'PostgreSQL URL: postgres://user@host:5432/name',
  }),
}

export const keyArgument = { key: requiredArgument('Name or ID of the key') }

export const userArgument = { user: requiredArgument('Email address or ID of the user') }

export const changeFlags = { ...dataFlags, 'dry-run': dryRunFlag }

export const confirmedFlags = { ...dataFlags, yes: yesFlag, 'dry-run': dryRunFlag }

type Values = Record<string, unknown>

export abstract class ServiceCommand extends BaseCommand {
  static override requests = serviceData
  static override flags = dataFlags

  /** As `start`, and opens the data: to change it if the command has `--dry-run`, and otherwise to read it. */
  protected async startOnData<F extends Values & DatabaseFlags, B extends Values, A extends Values>(
    command: Input<F, B, A>,
  ) {
    const started = await this.start(command)
    const { administration } = started.context
    const isToChange = Object.hasOwn(command.flags ?? {}, 'dry-run')
    const open = isToChange ? administration.openToChange : administration.openToRead
    return { ...started, administration: await open.call(administration, started.flags) }
  }
}
