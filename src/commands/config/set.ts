import { resolve } from 'node:path'
import * as Args from '@oclif/core/args'
import { BaseCommand } from '../../cli/base-command.ts'
import { profileOfKey, readConfigurationKey } from '../../cli/configuration-key.ts'
import { localWork } from '../../cli/documented-requests.ts'
import { noticeUpstreamChange } from '../../cli/notice-upstream-change.ts'
import { dryRunFlag } from '../../cli/shared-flags.ts'
import { adviseSignOut } from '../../cli/sign-in/sign-out-profile.ts'
import { type Configuration, changeConfiguration } from '../../config/configuration-file.ts'
import { configurationKeys, withValue } from '../../config/configuration-keys.ts'
import { Failure } from '../../contract/failure.ts'
import { configValueView } from '../../view/config.ts'

export default class ConfigSet extends BaseCommand {
  static override summary = 'Set an option of a profile'
  static override description =
    `If the profile does not exist, it is created. Without --profile, the value is set in the default profile, or in "local" if there is no default profile. Keys: ${configurationKeys.join(', ')}, and alias.NAME, a short name for a model`
  static override requests = localWork
  static override completes = { key: 'configuration key', value: 'configuration value' } as const
  static override view = configValueView
  static override examples = [
    {
      description: 'Create a profile',
      command: 'chatctl config set base_url https://chat.example --profile work',
    },
    { description: 'Use a profile by default', command: 'chatctl config set default_profile work' },
    { description: 'Get replies from Ollama', command: 'chatctl config set upstream=ollama' },
    {
      description: 'Use --model fast for a model',
      command: 'chatctl config set alias.fast=llama3.2:3b',
    },
  ]
  static override args = {
    key: Args.string({
      description: 'Name of the option, such as base_url',
      required: true,
      ignoreStdin: true,
    }),
    value: Args.string({ description: 'New value; KEY=VALUE works too', ignoreStdin: true }),
  }
  static override flags = { 'dry-run': dryRunFlag }
  protected override readonly mayNameNewProfile = true
  protected override readonly toleratesInvalidConfiguration = true

  async run(): Promise<void> {
    const { args, context } = await this.start(ConfigSet)
    const [name, text] = readAssignment(args.key, args.value)
    const key = readConfigurationKey(name, context, { command: 'set', value: text })
    const value = key === 'upstream_key_file' ? resolve(context.resolvePath(text)) : text
    const profile = profileOfKey(key, context)
    const set = (configuration: Configuration) => withValue(configuration, profile, key, value)
    if (!context.dryRun) await changeConfiguration(context.directories, set)
    const after = set(context.configuration)
    await context.output.show(configValueView, { profile, key, value })
    if (key === 'upstream') await noticeUpstreamChange(context, after)
    if (key === 'base_url' && profile !== null && !context.dryRun) adviseSignOut(context, profile, value)
  }
}

/** Also accepts `KEY=VALUE`, like `settings set`. @throws Failure `usage` if the value is missing */
function readAssignment(key: string, value: string | undefined): [key: string, value: string] {
  if (value !== undefined) return [key, value]
  const at = key.indexOf('=')
  if (at > 0) return [key.slice(0, at), key.slice(at + 1)]
  throw new Failure('usage', `Missing value for ${key}`, {
    hint: `Remove the key with: chatctl config unset ${key}`,
  })
}
