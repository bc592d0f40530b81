import * as Flags from '@oclif/core/flags'
import { codeFlag } from '../../cli/flags/flag-types.ts'

/** Flags that say how a reply is printed. They apply to text, and not to data. */
export const replyFlags = {
  extract: codeFlag({
    char: 'x',
    summary: 'Print only the Nth code block (default: 1)',
    exclusive: ['json', 'output', 'fields', 'jq'],
  }),
  raw: Flags.boolean({
    summary: 'Do not render Markdown (default in a pipe)',
    exclusive: ['json', 'output', 'fields', 'jq', 'extract'],
  }),
}
