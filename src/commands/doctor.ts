import { BaseCommand } from '../cli/base-command.ts'
import type { DoctorContext } from '../cli/doctor/doctor-context.ts'
import { speaksUnicode } from '../cli/doctor/terminal.ts'
import { calls } from '../cli/requests.ts'
import { profileKeys } from '../config/configuration-file.ts'
import { checksView } from '../view/config.ts'

/** Ms for one check where nothing else was said: somebody waits for the whole of it. */
const usualBound = 10_000

export default class Doctor extends BaseCommand {
  static override summary = 'Check what chatctl needs, and say what to do about what is missing.'
  static override description =
    'Looks at the version, the configuration, the credential and the keychain, the network, the service with its clock, quota and models, the data of the embedded service, what is kept here, and the terminal. Nothing is changed, on the service neither. A check is ok, a warning, failed or skipped; exits with the code of the first that failed. --timeout bounds each check (10s).'
  static override requests = calls('getProfile', 'listModels')
  static override view = checksView
  static override examples = ['<%= config.bin %> doctor', '<%= config.bin %> doctor --profile work --json']
  protected override readonly standsBrokenConfiguration = true

  async run(): Promise<void> {
    const { context } = await this.start(Doctor)
    const { env, directories, streams } = context
    const { timeout, max_wait: maxWait } = context.options
    const bound = timeout.source === 'default' ? usualBound : timeout.value
    const { examine } = await import('../cli/doctor/examine.ts')
    const { readPolicy, readQuota } = await import('../client/rate-limit-headers.ts')
    const doctor: DoctorContext = {
      context,
      env,
      version: { own: this.config.version, neededNode: this.#neededNode() },
      knownVariables: this.#knownVariables(),
      bound,
      connect: (observe) =>
        context.connect({
          timeout: bound,
          maxWait: maxWait.source === 'default' ? usualBound : maxWait.value,
          observe: (event) => {
            observe(event)
            context.transport.observe?.(event)
          },
        }),
      probeNetwork: async (base) => {
        const { probeNetwork } = await import('../client/probe-network.ts')
        return probeNetwork(base, { env, timeout: bound })
      },
      readQuota: (headers) => {
        const limit = readPolicy(headers)?.limit
        return { ...(limit === undefined ? {} : { limit }), ...readQuota(headers, context.host.clock.now()) }
      },
      findUnfinishedImports: async () => {
        const { findUnfinishedImports } = await import('../bulk/journal/unfinished-imports.ts')
        return findUnfinishedImports(directories)
      },
    }
    const { checks, exitCode } = await examine(doctor)
    if (streams.isShown) {
      const { describeChecks } = await import('../view/checks.ts')
      const unicode = env['TERM'] !== 'dumb' && speaksUnicode(env)
      const style = { width: streams.host.stdout.columns || 80, unicode }
      await context.output.show({ ...checksView, text: () => describeChecks(checks, style) }, checks)
    } else await context.output.show(checksView, checks)
    this.exitCode = exitCode
  }

  #neededNode(): string {
    return (this.config.pjson.engines?.['node'] ?? '').replace(/^>=\s*/, '')
  }

  /** Those of flags, of what a profile may hold, and those that are neither. */
  #knownVariables(): string[] {
    const flags = this.config.commands.flatMap(({ flags }) => Object.values(flags))
    const ofFlags = flags.flatMap(
      ({ env, summary }) => env ?? /^\[env: (\w+)\]/.exec(summary ?? '')?.[1] ?? [],
    )
    const ofProfiles = profileKeys.map((key) => `CHATCTL_${key.toUpperCase()}`)
    const others = ['CHATCTL_API_KEY', 'CHATCTL_API_KEY_FILE']
    return [...new Set([...ofFlags, ...ofProfiles, ...others])]
  }
}
