import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import type { Context } from '../../cli/context/context.ts'
import { quotaFlag, textFlag } from '../../cli/flags/flag-types.ts'
import { expandEnvFlag } from '../../cli/input/read-sources.ts'
import { Failure } from '../../contract/failure.ts'
import type { UserFilesOptions } from '../../users/user-files.ts'
import { concurrencyFlag } from './bulk-flags.ts'

/** The argument of commands that compare files of users with the service. */
export const userFileArgument = Args.string({
  description: 'CSV, JSONL, JSON, or YAML file, a saved plan, or - for stdin',
  ignoreStdin: true,
})

/** The flags of commands that compare files of users with the service. */
export const userFilesFlags = () => ({
  file: textFlag({
    char: 'f',
    helpValue: 'FILE',
    multiple: true,
    multipleNonGreedy: true,
    summary: 'Another file of users',
  }),
  format: Flags.option({
    options: ['csv', 'jsonl', 'json', 'yaml'] as const,
    helpValue: 'FORMAT',
    summary: 'Format of the files: csv, jsonl, json, or yaml',
  })(),
  'expand-env': expandEnvFlag,
  state: textFlag({
    helpValue: 'FILE',
    summary: 'State file (default: NAME.state.json beside NAME.EXT)',
  }),
  'no-refresh': Flags.boolean({
    summary: 'Read no users: compare with the state file alone',
  }),
  concurrency: concurrencyFlag(),
  quota: quotaFlag({ summary: 'Maximum request rate: 60/m, 100/h, free, or pro' }),
})

/** @throws Failure `usage` for none */
export function userFileNames(argument: string | undefined, others: readonly string[] | undefined): string[] {
  const names = [argument, ...(others ?? [])].filter((name) => name !== undefined)
  if (names.length > 0) return names
  throw new Failure('usage', 'No file of users was given', {
    hint: 'For example: chatctl users diff users.yaml',
  })
}

/** How the files are opened. */
export function userFilesOptions(
  context: Context,
  flags: { format: UserFilesOptions['format']; 'expand-env': boolean },
): UserFilesOptions {
  const { host, signal, resolvePath, env } = context
  return {
    format: flags.format,
    env: flags['expand-env'] ? env : undefined,
    signal,
    resolvePath,
    untilEnded: () => host.untilEnded(),
    get stdin() {
      return host.stdin
    },
  }
}
