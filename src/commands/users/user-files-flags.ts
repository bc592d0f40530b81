import * as Flags from '@oclif/core/flags'
import { commandLine, quoteWord } from '../../cli/command-line.ts'
import type { Context } from '../../cli/context/context.ts'
import { argument, quotaFlag, textFlag, textListFlag } from '../../cli/flags/flag-types.ts'
import { resolvePath } from '../../cli/host.ts'
import { expandEnvFlag } from '../../cli/input/read-sources.ts'
import type { ConfiguredQuota } from '../../config/quota.ts'
import { Failure } from '../../contract/failure.ts'
import type { StateOptions } from '../../users/state/users-state.ts'
import type { UserFilesOptions } from '../../users/user-files.ts'
import { concurrencyFlag, defaultConcurrency } from './bulk-flags.ts'

/** The argument of commands that compare files of users with the service. */
export const userFileArgument = argument('CSV, JSONL, JSON, or YAML file, a saved plan, or - for stdin')

/** The flags of commands that compare files of users with the service. */
export const userFilesFlags = () => ({
  file: textListFlag({ char: 'f', helpValue: 'FILE', summary: 'Another file of users' }),
  format: Flags.option({
    options: ['csv', 'jsonl', 'json', 'yaml'] as const,
    helpValue: 'FORMAT',
    summary: 'Format of the files: csv, jsonl, json, or yaml',
  })(),
  'expand-env': expandEnvFlag,
  state: textFlag({
    helpValue: 'FILE',
    summary: 'State file (default: NAME.state.json of NAME.EXT)',
  }),
  'no-refresh': Flags.boolean({
    summary: 'Read no users: compare with the state file alone',
  }),
  concurrency: concurrencyFlag(),
  quota: quotaFlag({ summary: 'Maximum request rate: 60/m, 100/h, free, or pro' }),
})

export const withoutIdsFlag = Flags.boolean({
  summary: 'Create users although the service returns no IDs, if they need no other request',
})

/** @throws Failure `usage` for none */
export function userFileNames(
  argument: string | undefined,
  others: readonly string[] | undefined,
  { id = '' }: { id?: string | undefined },
): string[] {
  const names = [argument, ...(others ?? [])].filter((name) => name !== undefined)
  if (names.length > 0) return names
  throw new Failure('usage', 'No file of users was given', {
    hint: `For example: ${commandLine(...id.split(':'), 'users.yaml')}`,
  })
}

/** How users are compared. */
export function comparisonOf(flags: {
  'no-refresh': boolean
  concurrency: number | undefined
  quota: ConfiguredQuota | undefined
}) {
  const { 'no-refresh': noRefresh, concurrency = defaultConcurrency, quota } = flags
  return { refresh: !noRefresh, concurrency, quota }
}

/** How the files are read. */
export function userFilesOptions(
  { env }: Context,
  flags: { format: UserFilesOptions['format']; 'expand-env': boolean },
): UserFilesOptions {
  return { format: flags.format, env: flags['expand-env'] ? env : undefined }
}

/** Grace period in ms, to write the next generation of a large state file after a signal. */
const grace = 60_000

/**
 * @param summary what the state file is used for, and its default
 * @param exclusive flags that do not use it
 */
export function stateFlag(summary: string, exclusive: string[] = []) {
  return textFlag({ helpValue: 'FILE', summary, exclusive })
}

/**
 * The path of a state file and the options to open it, for the service of this run.
 * @param name that the user gave
 * @param results path of a file that the run writes too
 * @throws Failure `usage` if both are one file, or for a name that Windows does not allow
 */
export function stateOf(
  context: Context,
  name: string,
  access: StateOptions['access'],
  results?: string,
): [path: string, options: StateOptions] {
  const { host } = context
  const path = resolvePath(host, name)
  if (results !== undefined && context.resolvePath(results) === path) {
    throw new Failure('usage', `Cannot write the results to ${results}: it is the state file`)
  }
  if (access === 'write') host.allowGrace(grace)
  return [path, { service: context.service, access, name }]
}

/** Says what a comparison of users cannot see. @param state.name of the state file, as the user gave it */
export function sayWhatIsUnseen(
  { output }: Context,
  state: { name: string; exists: boolean },
  refresh: boolean,
): void {
  const { name, exists } = state
  if (!exists) {
    output.notice(
      `There is no state file ${name} yet, so every user is new that was not created from this machine. To record users who exist, run: chatctl users adopt EMAIL=ID --state ${quoteWord(name)}`,
    )
  } else if (!refresh) {
    output.notice(`Compared with ${name} alone: no user was read, so changes by others are not seen.`)
  }
}
