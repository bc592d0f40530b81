import * as Flags from '@oclif/core/flags'
import { textFlag } from '../../cli/flags/flag-types.ts'
import { bulkFlags } from '../users/bulk-flags.ts'

const { close: _, ...rowFlags } = bulkFlags('each')

/** The flags that send a message for each row of a file. */
export const batchFlags = {
  ...rowFlags,
  each: textFlag({
    helpValue: 'FILE',
    dependsOn: ['results'],
    exclusive: ['context', 'continue', 'extract', 'raw', 'schema', 'stream-format'],
    summary:
      'Send a message for each row of a CSV, JSONL, JSON, or YAML file, with its values for {{COLUMN}}',
  }),
  results: textFlag({
    helpValue: 'FILE',
    dependsOn: ['each'],
    summary: 'Write the replies to a .jsonl file, a line for each row (required)',
  }),
  'on-unknown': Flags.option({
    dependsOn: ['each'],
    exclusive: ['restart'],
    options: ['retry'] as const,
    helpValue: 'ACTION',
    summary: 'For rows with an unknown outcome: retry',
  })(),
  'on-not-whole': Flags.option({
    dependsOn: ['each'],
    exclusive: ['restart'],
    options: ['retry'] as const,
    helpValue: 'ACTION',
    summary: 'For rows whose reply is not whole: retry',
  })(),
}
