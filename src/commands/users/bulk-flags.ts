import * as Flags from '@oclif/core/flags'
import type { InputFormat } from '../../bulk/input/input.ts'
import { integerFlag, quotaFlag, textFlag } from '../../cli/flags/flag-types.ts'
import { yesFlag } from '../../cli/flags/shared-flags.ts'
import type { ConfiguredQuota } from '../../config/quota.ts'

/** Requests at the same time, where nothing is said. */
export const defaultConcurrency = 8

/** @param dependsOn flags without which it means nothing */
export function concurrencyFlag(dependsOn: string[] = []) {
  return integerFlag({
    dependsOn,
    helpValue: 'N',
    min: 1,
    max: 256,
    summary: `Maximum number of concurrent requests (default: ${defaultConcurrency})`,
  })
}

/**
 * What all commands have that send a file of rows.
 * @param dependsOn the flag that names the file, where it is none that is always there
 */
export function bulkFlags(...dependsOn: string[]) {
  return {
    format: Flags.option({
      dependsOn,
      options: ['csv', 'jsonl', 'json', 'yaml'] as const,
      helpValue: 'FORMAT',
      summary: 'Format of the file: csv, jsonl, json, or yaml (default: from the file extension)',
    })(),
    'skip-invalid': Flags.boolean({
      dependsOn,
      summary: 'Send the valid rows, write the others to NAME.failed.EXT, and exit with code 9',
    }),
    concurrency: concurrencyFlag(dependsOn),
    quota: quotaFlag({
      dependsOn,
      summary: 'Maximum request rate: 60/m, 100/h, free (100/h), or pro (1000/h)',
    }),
    results: textFlag({
      dependsOn,
      helpValue: 'FILE',
      summary: 'Write the outcome of each row to a .csv or .jsonl file',
    }),
    restart: Flags.boolean({
      dependsOn,
      summary: 'Forget which rows were sent, and send the whole file again',
    }),
    close: Flags.boolean({
      dependsOn,
      exclusive: ['concurrency', 'dry-run', 'format', 'quota', 'restart', 'results', 'skip-invalid'],
      summary: 'Take the interrupted import of this file off the list of chatctl doctor, and send nothing',
    }),
    // CHATCTL_YES is set for all commands of a job, so that it needs nothing beside it.
    yes: yesFlag,
  }
}

export interface BulkFlags {
  format: InputFormat | undefined
  'skip-invalid': boolean
  concurrency: number | undefined
  quota: ConfiguredQuota | undefined
  results: string | undefined
  restart: boolean
  yes: boolean
}

/** What they say, as an import takes it. */
export function readBulkFlags({ format, 'skip-invalid': skipInvalid, ...rest }: BulkFlags) {
  const { concurrency = defaultConcurrency, quota, results, restart, yes } = rest
  return { format, skipInvalid, concurrency, quota, results, restart, yes }
}
