import { BaseCommand } from '../../../cli/base-command.ts'
import { calls } from '../../../cli/documented-requests.ts'
import { integerFlag, switchFlag, textFlag, textListFlag } from '../../../cli/flags/flag-types.ts'
import { dryRunFlag } from '../../../cli/flags/shared-flags.ts'
import { readDocument } from '../../../cli/input/read-document.ts'
import { showChanged } from '../../../cli/output/show-response.ts'
import { Failure } from '../../../contract/failure.ts'
import { isRecord } from '../../../contract/notation/exact-json.ts'
import { unlessUnreadable } from '../../../contract/or-else.ts'
import type { ApiConfiguration } from '../../../contract/resources/settings.ts'
import { maxSettingsBytes } from '../../../system/files/read-named-file.ts'
import { apiConfigurationView, describeChange } from '../../../view/settings.ts'

export default class SettingsApiSet extends BaseCommand {
  static override summary = 'Set the API configuration: rate limiting and CORS'
  static override description =
    'The service cannot show its API configuration, so chatctl shows the difference from what it last sent. Only the values you give are sent; a flag takes precedence over --file.'
  static override requests = calls('setApiConfiguration')
  static override view = apiConfigurationView
  static override examples = BaseCommand.toExamples({
    'Limit requests': 'chatctl settings api set --version v2 --rate-limiting on --requests-per-minute 60',
    'Allow an origin':
      'chatctl settings api set --allowed-origin https://a.example --allowed-method GET --allowed-method POST',
    'Send a file': 'chatctl settings api set --file api.yaml',
  })
  static override flags = {
    version: textFlag({ helpValue: 'TEXT', summary: 'Version of the API configuration' }),
    'rate-limiting': switchFlag({ summary: 'Limit requests per minute' }),
    'requests-per-minute': integerFlag({ helpValue: 'N', summary: 'Maximum number of requests per minute' }),
    'allowed-origin': textListFlag({ helpValue: 'ORIGIN', summary: 'Origin that CORS allows' }),
    'allowed-method': textListFlag({ helpValue: 'METHOD', summary: 'HTTP method that CORS allows' }),
    file: textFlag({
      char: 'f',
      helpValue: 'FILE',
      summary: 'API configuration in YAML or JSON, or - for stdin',
    }),
    'dry-run': dryRunFlag,
  }

  async run(): Promise<void> {
    const { flags, context } = await this.start(SettingsApiSet)
    const file =
      flags.file === undefined ? undefined : await readDocument(flags.file, context, maxSettingsBytes)
    const base = file === undefined ? {} : asObject(file.value, file.name)
    const configuration: ApiConfiguration = {
      ...base,
      ...(flags.version === undefined ? {} : { version: flags.version }),
      ...group('rate_limiting', base, {
        enabled: flags['rate-limiting'],
        requests_per_minute: flags['requests-per-minute'],
      }),
      ...group('cors', base, {
        allowed_origins: flags['allowed-origin'],
        allowed_methods: flags['allowed-method'],
      }),
    }
    this.demandChange(configuration)
    const client = await context.connect()
    const { readSent } = await import('../../../settings/settings-history.ts')
    const { withSettingsLock } = await import('../../../settings/apply/settings-lock.ts')
    const send = () => client.settings.setApi(configuration)
    // What is held back leaves what was last sent from here as it is.
    if (context.dryRun) return void (await send())
    // Before the lock, which makes a directory.
    context.demandNamedService()
    const { before, answer } = await withSettingsLock(context, async () => {
      const before = unlessUnreadable(() => readSent(context).api)
      return { before, answer: await this.change(send()) }
    })
    if (before) {
      const { compareSent } = await import('../../../settings/plan.ts')
      const { changes, left } = compareSent(before.configuration, configuration)
      const words = changes.map(describeChange).join('; ') || 'no differences'
      context.say(
        `Compared with the API configuration last sent from this machine (${before.sentAt}): ${words}`,
      )
      if (left.length > 0) context.say(`Sent then, but not this time: ${left.join(', ')}`)
    }
    const changed = { done: 'Set the API configuration', resource: 'it', sent: configuration }
    await showChanged(apiConfigurationView, answer, changed, context)
  }
}

function asObject(value: unknown, what: string): Record<string, unknown> {
  if (isRecord(value)) return value
  throw new Failure('refused', `${what} must contain an object`)
}

/** One nested object of the configuration, from the file with the flags over it; absent when neither names it. */
function group(
  name: string,
  base: Record<string, unknown>,
  given: Record<string, unknown>,
): Record<string, unknown> {
  const present = Object.entries(given).filter(([, value]) => value !== undefined)
  if (present.length === 0) return {}
  return { [name]: { ...asObject(base[name] ?? {}, name), ...Object.fromEntries(present) } }
}
