import * as Flags from '@oclif/core/flags'
import type { InputForm } from '../bulk/input/input.ts'
import type { Quota } from '../config/quota.ts'
import { integerFlag, quotaFlag, textFlag } from './flag-types.ts'
import { yesFlag } from './shared-flags.ts'

export const concurrencyFlag = integerFlag({
  default: 8,
  helpValue: '<n>',
  min: 1,
  max: 256,
  summary: 'Most requests at the same time.',
})

/** What all commands have that send a file of rows. */
export const bulkFlags = {
  format: Flags.option({
    options: ['csv', 'jsonl', 'json', 'yaml'] as const,
    helpValue: '<form>',
    summary: 'csv, jsonl, json or yaml, where the name of the file does not say.',
  })(),
  'skip-invalid': Flags.boolean({ summary: 'Leave out the rows that have faults.' }),
  concurrency: concurrencyFlag,
  quota: quotaFlag({ summary: 'Send no more than that, such as 100/h; free or pro for those tiers.' }),
  results: textFlag({
    helpValue: '<file>',
    summary: 'Write what became of each row, as .csv or .jsonl.',
  }),
  restart: Flags.boolean({ summary: 'Forget what was done of this file, and send all of it.' }),
  yes: yesFlag,
}

interface BulkFlags {
  format: InputForm | undefined
  'skip-invalid': boolean
  concurrency: number
  quota: Quota | undefined
  results: string | undefined
  restart: boolean
  yes: boolean
}

/** What they say, as an import takes it. */
export function readBulkFlags({ format: form, 'skip-invalid': skipInvalid, ...rest }: BulkFlags) {
  const { concurrency, quota, results, restart, yes } = rest
  return { form, skipInvalid, concurrency, quota, results, restart, yes }
}
