import { BaseCommand } from '../cli/base-command.ts'
import { calls } from '../cli/documented-requests.ts'
import { asTyped } from '../cli/static-plugin.ts'
import type { ClientEvent } from '../client/client-event.ts'
import { checksView } from '../view/checks.ts'

/** Default timeout of one check, in ms. */
const defaultBound = 10_000

export default class Doctor extends BaseCommand {
  static override summary = 'Check the setup, and suggest fixes'
  static override description =
    'Checks the version, configuration, credential, keychain, network, model server, service (clock, quota, models), data, and unfinished imports. Nothing is changed. Each check is ok, warning, failed, or skipped; the exit code is that of the first failed check. --timeout applies to each check (default: 10s).'
  static override requests = calls('getProfile', 'listModels')
  static override view = checksView
  static override examples = BaseCommand.toExamples({
    'Check the setup': 'chatctl doctor',
    'Check another profile, as JSON': 'chatctl doctor --profile work --json',
    'Wait longer for a slow service': 'chatctl doctor --timeout 30s',
  })
  protected override readonly toleratesInvalidConfiguration = true

  async run(): Promise<void> {
    const { context } = await this.start(Doctor)
    const { env, streams } = context
    const { timeout, max_wait: maxWait } = context.options
    const bound = timeout.source === 'default' ? defaultBound : timeout.value
    const { examine } = await import('./doctor/examine.ts')
    const doctor = {
      context,
      version: { own: this.config.version, neededNode: this.#neededNode() },
      bound,
      connect: (observe: (event: ClientEvent) => void) =>
        context.connect({
          timeout: bound,
          maxWait: maxWait.source === 'default' ? defaultBound : maxWait.value,
          observe: (event) => {
            observe(event)
            context.transport.observe?.(event)
          },
        }),
    }
    const { checks: found, exitCode } = await examine(doctor)
    const checks = found.map((one) => ({ ...one, hint: one.hint && asTyped(one.hint, context.host) }))
    const { output } = context
    if (streams.isShown) {
      const { describeChecks, speaksUnicode } = await import('../view/checks.ts')
      const unicode = env['TERM'] !== 'dumb' && speaksUnicode(env)
      const style = { width: streams.host.stdout.columns || 80, unicode }
      await output.show({ ...checksView, text: () => describeChecks(checks, style) }, checks)
    } else {
      await output.show(checksView, checks)
      const { summarizeChecks } = await import('../view/checks.ts')
      if (!output.isJson) output.notice(summarizeChecks(checks))
    }
    this.exitCode = exitCode
  }

  #neededNode(): string {
    return (this.config.pjson.engines?.['node'] ?? '').replace(/^>=\s*/, '')
  }
}
