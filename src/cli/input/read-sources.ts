import * as Flags from '@oclif/core/flags'
import { Failure } from '../../contract/failure.ts'
import { maxSettingsBytes } from '../../system/files/read-named-file.ts'
import type { Context } from '../context/context.ts'
import { argument, textListFlag } from '../flags/flag-types.ts'
import { demandOneStdin, readStdin, readTextFile } from './read-input.ts'

/**
 * The texts of settings files in the order of their layers; `-` is stdin.
 * @throws Failure `usage` for none, or for stdin twice; `refused` for what cannot be read
 */
export async function readSources(
  names: readonly (string | undefined)[],
  context: Context,
): Promise<{ name: string; text: string }[]> {
  const given = names.filter((name) => name !== undefined)
  if (given.length === 0) {
    throw new Failure('usage', 'No settings file was given', {
      hint: 'Create one with: chatctl settings export settings.yaml',
    })
  }
  demandOneStdin(given)
  const sources: { name: string; text: string }[] = []
  for (const name of given) {
    const text =
      name === '-'
        ? await readStdin('a settings file', context, maxSettingsBytes)
        : readTextFile(name, context, maxSettingsBytes)
    sources.push({ name: name === '-' ? 'stdin' : name, text })
  }
  return sources
}

export const allowUnknownKeysFlag = Flags.boolean({ summary: 'Accept undocumented settings' })

export const expandEnvFlag = Flags.boolean({
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the text shows the literal syntax
  summary: 'Replace ${NAME} in values with the variable NAME',
})

/** The argument and the flags of commands that compare settings files with the service. */
export const settingsFileArgument = argument(
  'Settings file, a plan, or - for stdin (required without --file)',
)
export const settingsFilesFlags = {
  file: textListFlag({ char: 'f', helpValue: 'FILE', summary: 'A file that overrides earlier ones' }),
  'allow-unknown-keys': allowUnknownKeysFlag,
  'expand-env': expandEnvFlag,
  only: Flags.option({
    helpValue: 'settings|api',
    options: ['settings', 'api'] as const,
    summary: 'Only the settings, or only the API configuration',
  })(),
}
