import { resolve } from 'node:path'
import { commandLine } from '../../cli/command-line.ts'
import type { Context } from '../../cli/context/context.ts'
import { argument, requiredArgument } from '../../cli/flags/flag-types.ts'
import { dryRunFlag } from '../../cli/flags/shared-flags.ts'
import { LocalCommand } from '../../cli/local-command.ts'
import { configurationKeys, withValue } from '../../config/configuration-keys.ts'
import { directoryOf, kindOf } from '../../config/profile-directories.ts'
import { Failure } from '../../contract/failure.ts'
import { configValueView } from '../../view/config.ts'
import { changeOption, profileOfKey, readConfigurationKey } from './configuration-options.ts'

export default class ConfigSet extends LocalCommand {
  static override summary = 'Set an option of a profile'
  static override description =
    `If the profile does not exist, it is created. Without --profile, the value is set in the profile of the working directory, else in the default profile, else in "local". Options: ${configurationKeys.join(', ')}, alias.NAME (short name for a model), and directory.PATH (profile to use in that directory).`
  static override completes = { key: 'configuration key', value: 'configuration value' } as const
  static override view = configValueView
  static override examples = LocalCommand.toExamples({
    'Create a profile': 'chatctl config set base_url https://chat.example --profile work',
    'Use a profile by default': 'chatctl config set default_profile work',
    'Get replies from Ollama': 'chatctl config set model_server=ollama',
    'Use --model fast for a model': 'chatctl config set alias.fast=llama3.2:3b',
    'Use a profile in a directory and everything in it':
      'chatctl config set directory."~/projects/acme"=work',
  })
  static override args = {
    key: requiredArgument('Name of the option, such as base_url'),
    value: argument('New value; KEY=VALUE works too'),
  }
  static override flags = { 'dry-run': dryRunFlag }
  protected override readonly mayNameNewProfile = true
  protected override readonly toleratesInvalidConfiguration = true

  async run(): Promise<void> {
    const { args, context } = await this.start(ConfigSet)
    const [name, text] = readAssignment(args.key, args.value)
    const key = readConfigurationKey(name, context)
    const isPath = key === 'model_server_key_file' || key === 'approvers'
    const value = isPath ? resolve(context.resolvePath(text)) : text
    const profile = profileOfKey(key, context)
    const directory = directoryOf(key)
    const isMissing = directory !== undefined && !demandDirectory(directory, context)
    await changeOption(context, { profile, key, value }, (before) => withValue(before, profile, key, value))
    if (isMissing) context.output.notice(`${directory} does not exist yet.`)
  }
}

/** @returns whether it exists. @throws Failure `usage` for a file */
function demandDirectory(directory: string, { directories }: Context): boolean {
  const kind = kindOf(directory, directories.home)
  if (kind !== 'file') return kind !== undefined
  throw new Failure('usage', `${directory} is not a directory`)
}

/** Also accepts `KEY=VALUE`, like `settings set`. @throws Failure `usage` if the value is missing */
function readAssignment(key: string, value: string | undefined): [key: string, value: string] {
  const isPath = directoryOf(key) !== undefined
  // A path may contain `=`, and the name of a profile does not.
  const at = isPath ? key.lastIndexOf('=') : key.indexOf('=')
  if (value !== undefined && (at < 0 || isPath)) return [key, value]
  if (value !== undefined) {
    throw new Failure('usage', 'config set sets one option at a time', {
      hint: `Set ${key.slice(0, at)} and the next option with one command each.`,
    })
  }
  if (at > 0) return [key.slice(0, at), key.slice(at + 1)]
  throw new Failure('usage', `Missing value for ${key}`, {
    hint: `Remove the option with: ${commandLine('config', 'unset', key)}`,
  })
}
