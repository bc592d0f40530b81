import * as Flags from '@oclif/core/flags'
import type { InputFormat } from '../../bulk/input/input-format.ts'
import type { Quota } from '../../config/quota.ts'
import { integerFlag, quotaFlag, textFlag } from '../flag-types.ts'
import { yesFlag } from '../shared-flags.ts'

/** Requests at the same time, where nothing is said. */
export const usualConcurrency = 8

/** @param dependsOn flags without which it means nothing */
export function concurrencyFlag(dependsOn: string[] = []) {
  return integerFlag({
    dependsOn,
    helpValue: '<n>',
    min: 1,
    max: 256,
    summary: `Most requests at the same time (${usualConcurrency}).`,
  })
}

/**
 * What all commands have that send a file of rows.
 *
 * @param dependsOn the flag that names the file, where it is none that is always there
 */
export function bulkFlags(...dependsOn: string[]) {
  return {
    format: Flags.option({
      dependsOn,
      options: ['csv', 'jsonl', 'json', 'yaml'] as const,
      helpValue: '<form>',
      summary: 'csv, jsonl, json or yaml, where the name of the file does not say.',
    })(),
    'skip-invalid': Flags.boolean({
      dependsOn,
      summary: 'Skip invalid rows, write them to a file, and exit with code 9.',
    }),
    concurrency: concurrencyFlag(dependsOn),
    quota: quotaFlag({
      dependsOn,
      summary: 'Maximum number of requests, such as 100/h; free or pro for those tiers.',
    }),
    results: textFlag({
      dependsOn,
      helpValue: '<file>',
      summary: 'Write what became of each row, as .csv or .jsonl.',
    }),
    restart: Flags.boolean({
      dependsOn,
      summary: 'Forget what was done of this file, and send all of it.',
    }),
    close: Flags.boolean({
      dependsOn,
      exclusive: ['concurrency', 'dry-run', 'format', 'quota', 'restart', 'results', 'skip-invalid'],
      summary: 'Give up the unfinished import of this file, without sending anything.',
    }),
    // CHATCTL_YES is set for all commands of a job, so that it needs nothing beside it.
    yes: yesFlag,
  }
}

interface BulkFlags {
  format: InputFormat | undefined
  'skip-invalid': boolean
  concurrency: number | undefined
  quota: Quota | undefined
  results: string | undefined
  restart: boolean
  yes: boolean
}

/** What they say, as an import takes it. */
export function readBulkFlags({ format, 'skip-invalid': skipInvalid, ...rest }: BulkFlags) {
  const { concurrency = usualConcurrency, quota, results, restart, yes } = rest
  return { format, skipInvalid, concurrency, quota, results, restart, yes }
}
